//! libckitchen for Rust: contexts, device memory and errors that clean up after themselves; operators by their args structs.
//!
//! ```
//! use ckitchen::{sys, Context, Options};
//!
//! let context = Context::new(&Options { backend: sys::CK_BACKEND_CPU, ..Options::default() })?;
//! let x = context.upload(&[1.0f32, -2.0, 0.5, 0.0])?;
//! let q = context.alloc(4)?;
//! let scale = context.alloc(4)?;
//! let args = sys::ck_int8_quantize_args {
//!     dtype: sys::CK_F32,
//!     rows: 1,
//!     k: 4,
//!     x: x.as_ptr(),
//!     q: q.as_mut_ptr(),
//!     scale: scale.as_mut_ptr().cast(),
//!     ..Default::default()
//! };
//! // SAFETY: the pointers are live buffers of this context, as large as the args say.
//! unsafe { context.run(&args, None)? };
//! assert_eq!(q.download::<i8>()?, [64, -127, 32, 0]);
//! # Ok::<(), ckitchen::Error>(())
//! ```
//!
//! `ckitchen.h` is the manual for every field, status and operator.

pub use ckitchen_sys as sys;

use std::ffi::{c_void, CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::c_char;
use std::ptr::null_mut;

/// A call that failed: its status and the library's text, which says which argument, its value, the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: sys::ck_status,
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the name is static text.
        let name = unsafe { CStr::from_ptr(sys::ck_status_string(self.status)) };
        write!(f, "{} ({})", self.text, name.to_string_lossy())
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// Right after the call, on the same thread: the text is the thread's own.
fn check(status: sys::ck_status) -> Result<()> {
    if status == sys::CK_OK {
        return Ok(());
    }
    // SAFETY: never NULL, and valid until this thread's next failing call.
    let text = unsafe { CStr::from_ptr(sys::ck_last_error()) }.to_string_lossy().into_owned();
    Err(Error { status, text })
}

fn text_of(bytes: &[c_char]) -> String {
    let text: Vec<u8> = bytes.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
    String::from_utf8_lossy(&text).into_owned()
}

fn c_text(name: &str, text: &Option<String>) -> Result<Option<CString>> {
    text.as_ref()
        .map(|text| {
            CString::new(text.as_str()).map_err(|error| Error {
                status: sys::CK_ERROR_INVALID_ARGUMENT,
                text: format!("Context::new: {name} has a NUL at byte {}", error.nul_position()),
            })
        })
        .transpose()
}

/// The version of the library that is loaded: major * 1000000 + minor * 1000 + patch.
pub fn version() -> u32 {
    // SAFETY: takes nothing.
    unsafe { sys::ck_version() }
}

/// The GPU targets whose code is built into the library.
pub fn builtin_targets() -> Vec<&'static str> {
    // SAFETY: static text.
    let text = unsafe { CStr::from_ptr(sys::ck_builtin_targets()) };
    text.to_str().unwrap_or("").split_whitespace().collect()
}

/// The variant that this thread's last successful operator call ran, "" before any.
pub fn last_variant() -> &'static str {
    // SAFETY: static text.
    unsafe { CStr::from_ptr(sys::ck_last_variant()) }.to_str().unwrap_or("")
}

/// What a device is, and why it is not usable where it is not.
#[derive(Clone, Debug)]
pub struct DeviceProperties {
    pub backend: sys::ck_backend,
    pub ordinal: i32,
    pub usable: sys::ck_status,
    pub flags: u32,
    pub compute_units: i32,
    pub memory_bytes: i64,
    pub shared_memory_bytes: i64,
    pub name: String,
    pub arch: String,
    pub features: String,
    pub unusable_reason: String,
}

impl From<&sys::ck_device_properties> for DeviceProperties {
    fn from(info: &sys::ck_device_properties) -> Self {
        DeviceProperties {
            backend: info.backend,
            ordinal: info.ordinal,
            usable: info.usable,
            flags: info.flags,
            compute_units: info.compute_units,
            memory_bytes: info.memory_bytes,
            shared_memory_bytes: info.shared_memory_bytes,
            name: text_of(&info.name),
            arch: text_of(&info.arch),
            features: text_of(&info.features),
            unusable_reason: text_of(&info.unusable_reason),
        }
    }
}

/// All devices of a backend, unusable ones included.
pub fn devices(backend: sys::ck_backend) -> Result<Vec<DeviceProperties>> {
    let mut count = 0;
    // SAFETY: count is a live i32.
    check(unsafe { sys::ck_device_count(backend, &mut count) })?;
    (0..count)
        .map(|ordinal| {
            let mut info = sys::ck_device_properties::default();
            // SAFETY: info is stamped with its size.
            check(unsafe { sys::ck_device_info(backend, ordinal, &mut info) })?;
            Ok(DeviceProperties::from(&info))
        })
        .collect()
}

/// `ck_context_options`; the default of every field is the library's.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub backend: sys::ck_backend,
    pub ordinal: i32,
    pub threads: i32,
    pub flags: u32,
    pub disable: Option<String>,
    pub runtime_path: Option<String>,
}

/// What `<op>_supported` answers.
#[derive(Clone, Debug)]
pub struct Support {
    pub status: sys::ck_status,
    pub variant: String,
    pub reason: String,
}

/// One device of one backend. Usable from many threads at once.
#[derive(Debug)]
pub struct Context {
    raw: *mut sys::ck_context,
}

// SAFETY: the header says that a context may be used from many threads at once.
unsafe impl Send for Context {}
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by ck_context_create; buffers and streams borrow the context, so none is left.
        unsafe { sys::ck_context_destroy(self.raw) }
    }
}

impl Context {
    pub fn new(options: &Options) -> Result<Context> {
        let disable = c_text("disable", &options.disable)?;
        let runtime_path = c_text("runtime_path", &options.runtime_path)?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let raw_options = sys::ck_context_options {
            backend: options.backend,
            ordinal: options.ordinal,
            threads: options.threads,
            flags: options.flags,
            disable: pointer(&disable),
            runtime_path: pointer(&runtime_path),
            ..Default::default()
        };
        let mut raw = null_mut();
        // SAFETY: the texts live until the call returns, which copies them.
        check(unsafe { sys::ck_context_create(&raw_options, &mut raw) })?;
        Ok(Context { raw })
    }

    /// The C handle, for what this crate does not wrap.
    pub fn as_raw(&self) -> *mut sys::ck_context {
        self.raw
    }

    pub fn info(&self) -> Result<DeviceProperties> {
        let mut info = sys::ck_device_properties::default();
        // SAFETY: info is stamped with its size.
        check(unsafe { sys::ck_context_info(self.raw, &mut info) })?;
        Ok(DeviceProperties::from(&info))
    }

    /// Device memory of `bytes` bytes, not initialised.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer<'_>> {
        let mut pointer = null_mut();
        // SAFETY: pointer is live.
        check(unsafe { sys::ck_malloc(self.raw, bytes as u64, &mut pointer) })?;
        Ok(Buffer { context: self, pointer, bytes })
    }

    /// Device memory with a copy of `values`.
    pub fn upload<T: Element>(&self, values: &[T]) -> Result<Buffer<'_>> {
        let mut buffer = self.alloc(std::mem::size_of_val(values))?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// A stream that neither waits for the default stream nor makes it wait.
    pub fn stream(&self) -> Result<Stream<'_>> {
        let mut raw = null_mut();
        // SAFETY: raw is live.
        check(unsafe { sys::ck_stream_create(self.raw, &mut raw) })?;
        Ok(Stream { context: self, raw, owner: PhantomData })
    }

    /// Waits until the work on the stream (None: the default stream) is finished and reports faults of it.
    pub fn synchronize(&self, stream: Option<&Stream<'_>>) -> Result<()> {
        // SAFETY: the stream is this library's own or NULL.
        check(unsafe { sys::ck_synchronize(self.raw, raw_stream(stream)) })
    }

    /// Enqueues an operator on the stream (None: the default stream).
    ///
    /// # Safety
    /// The pointers in `args` must be memory of this context's device, as large as the args say, alive until the work on the
    /// stream has finished, and not written by anybody else meanwhile.
    pub unsafe fn run<A: sys::Operator>(&self, args: &A, stream: Option<&Stream<'_>>) -> Result<()> {
        check(A::CALL(self.raw, args, raw_stream(stream)))
    }

    /// Whether and by which variant the operator would run. Data pointers may be null.
    pub fn supported<A: sys::Operator>(&self, args: &A) -> Result<Support> {
        let mut info = sys::ck_support_info::default();
        // SAFETY: queries follow no data pointer.
        check(unsafe { A::SUPPORTED(self.raw, args, &mut info) })?;
        Ok(Support { status: info.status, variant: text_of(&info.variant), reason: text_of(&info.reason) })
    }

    /// The bytes of workspace that the operator needs. Data pointers may be null.
    pub fn workspace_size<A: sys::Operator>(&self, args: &A) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: queries follow no data pointer.
        check(unsafe { A::WORKSPACE_SIZE(self.raw, args, &mut bytes) })?;
        Ok(bytes)
    }

    /// Loads what the operator would load on its first call, so that a call under capture only launches.
    pub fn prepare<A: sys::Operator>(&self, args: &A) -> Result<()> {
        let problem = sys::ck_problem { op: A::OP, args: (args as *const A).cast(), ..Default::default() };
        // SAFETY: one problem, whose args live until the call returns; no data pointer is followed.
        check(unsafe { sys::ck_prepare(self.raw, &problem, 1) })
    }
}

fn raw_stream(stream: Option<&Stream<'_>>) -> *mut c_void {
    stream.map_or(null_mut(), |stream| stream.raw)
}

/// A stream of a context's device; its work must be finished before it is dropped.
#[derive(Debug)]
pub struct Stream<'c> {
    context: &'c Context,
    raw: *mut c_void,
    owner: PhantomData<*mut c_void>,
}

impl Stream<'_> {
    /// The native stream (hipStream_t, CUstream).
    pub fn as_raw(&self) -> *mut c_void {
        self.raw
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: made by ck_stream_create of the same context. A failure here has nobody to be told to.
        unsafe { sys::ck_stream_destroy(self.context.raw, self.raw) };
    }
}

/// Types whose values are bytes without padding, every pattern of which is a value.
///
/// # Safety
/// Implement it only for such types.
pub unsafe trait Element: Copy + Default {}
macro_rules! elements { ($($t:ty)*) => { $(unsafe impl Element for $t {})* } }
elements!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Device memory, freed when dropped. Work that uses it must be finished by then.
#[derive(Debug)]
pub struct Buffer<'c> {
    context: &'c Context,
    pointer: *mut c_void,
    bytes: usize,
}

// SAFETY: a device address and a context, both usable from any thread.
unsafe impl Send for Buffer<'_> {}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: from ck_malloc of the same context. A failure here has nobody to be told to.
        unsafe { sys::ck_free(self.context.raw, self.pointer) };
    }
}

impl Buffer<'_> {
    pub fn as_ptr(&self) -> *const c_void {
        self.pointer
    }

    pub fn as_mut_ptr(&self) -> *mut c_void {
        self.pointer
    }

    /// The size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `values` to the start of the buffer.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write<T: Element>(&mut self, values: &[T]) -> Result<()> {
        let bytes = std::mem::size_of_val(values);
        assert!(bytes <= self.bytes, "{bytes} bytes do not fit a buffer of {}", self.bytes);
        // SAFETY: both ranges are live and as long as the copy.
        check(unsafe {
            sys::ck_copy(
                self.context.raw,
                self.pointer,
                values.as_ptr().cast(),
                bytes as u64,
                sys::CK_COPY_HOST_TO_DEVICE,
                null_mut(),
            )
        })
    }

    /// Copies as many whole values as the buffer holds back from it, behind the work on the default stream.
    pub fn download<T: Element>(&self) -> Result<Vec<T>> {
        let mut values = vec![T::default(); self.bytes / size_of::<T>()];
        let bytes = std::mem::size_of_val(values.as_slice());
        // SAFETY: both ranges are live and as long as the copy.
        check(unsafe {
            sys::ck_copy(
                self.context.raw,
                values.as_mut_ptr().cast(),
                self.pointer,
                bytes as u64,
                sys::CK_COPY_DEVICE_TO_HOST,
                null_mut(),
            )
        })?;
        Ok(values)
    }
}
