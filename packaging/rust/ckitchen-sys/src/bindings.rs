// Written by packaging/generate.py from include/ckitchen.h; changes made here are lost.

use std::os::raw::{c_char, c_void};

/// Every function's result. Numbers are fixed; new codes may appear in the gaps: treat an unknown nonzero
/// value as a failure.
pub type ck_status = i32;
/// Element types. 0 is no type: fields that are marked "required" refuse it.
pub type ck_dtype = i32;
pub type ck_backend = i32;
pub type ck_copy_kind = i32;
pub type ck_op = i32;
/// How a scale is given.
pub type ck_scale_mode = i32;
/// ```text
/// Activation applied first, in float32, elementwise. exp32 is the library's own exponential, so that every
/// backend has the same bits; constants are the nearest float32, every operation is rounded:
///
///   x > 88: infinity;  x < -87: 0;  NaN: NaN;  else
///   n = rne(x * 1.44269504);   r = (x - n * 0.693359375) - n * -2.12194440e-4
///   p = 1.9875691500e-4;   then p = p * r + c with each c of 1.3981999507e-3, 8.3334519073e-3,
///                          4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1;   p = (p * (r * r) + r) + 1
///   exp32(x) = p * 2^n
///
/// gelu_tanh of minus infinity is NaN by these steps and quantizes to 0.
/// ```
pub type ck_activation = i32;
/// ```text
/// A quantized weight [N,K] is: packed int8 [N, K/2], codes 0..15, the even column in the low nibble; s_rel
/// [N, K/g], a scale for each group of g columns, e4m3 or float32; s_channel float32 [N]; and, by layout:
///   CODEBOOK    16 ascending float32 levels shared by the tensor:  level(code) = codebook[code]
///   UNIFORM     level(code) = code - 8
///   ASYMMETRIC  level(code) = code - 8, and a correction [K/g, N] (note the order) in the weight's dtype
/// Its int8 grid is  g8 = clamp(rne(level(code) * float32(s_rel)), -127, 127), its float value
/// float32(g8) * s_channel, then + float32(correction), each step rounded. A NaN s_rel gives g8 = 0. A
/// codebook is not checked: levels that do not ascend give unspecified codes.
/// ```
pub type ck_w4a8_layout = i32;

/// Receives log lines; see `ck_set_log_callback`.
pub type ck_log_callback = Option<unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char)>;

/// One device of one backend. Opaque.
#[repr(C)]
pub struct ck_context {
    _private: [u8; 0],
}

/// ck_version() of the library that these declarations are of.
pub const CK_VERSION: u32 = 1000;
pub const CK_OK: ck_status = 0;
/// The call is wrong whatever the device: a NULL, an enum, a size, a stride, an overlap, a reserved field.
pub const CK_ERROR_INVALID_ARGUMENT: ck_status = 10;
/// A struct_size below the first release's, or nonzero bytes beyond what this library knows.
pub const CK_ERROR_VERSION_MISMATCH: ck_status = 11;
/// The arguments are legal but no enabled variant on this device takes the problem.
pub const CK_ERROR_UNSUPPORTED_PROBLEM: ck_status = 12;
/// workspace is NULL or workspace_size is below \<op\>_workspace_size.
pub const CK_ERROR_WORKSPACE_TOO_SMALL: ck_status = 13;
/// An environment variable or a context option has a value that is not understood.
pub const CK_ERROR_INVALID_CONFIGURATION: ck_status = 14;
/// The operator, called directly, was switched off by CKITCHEN_DISABLE or ck_context_options.disable.
pub const CK_ERROR_OP_DISABLED: ck_status = 15;
/// The backend's runtime library was not found or is too old. The text lists what was tried.
pub const CK_ERROR_NO_RUNTIME: ck_status = 30;
/// The runtime is there and has no device, or the ordinal is out of range.
pub const CK_ERROR_NO_DEVICE: ck_status = 31;
/// The device is of an architecture for which this library has no code.
pub const CK_ERROR_UNSUPPORTED_ARCH: ck_status = 32;
pub const CK_ERROR_OUT_OF_MEMORY: ck_status = 50;
/// The GPU driver or runtime refused a call; the text has its name, code and words. A device that has
/// disappeared shows as this too where the runtime says no more than "unknown error" (HIP: 999).
pub const CK_ERROR_DRIVER: ck_status = 51;
/// The device has faulted or disappeared; the context cannot be used any more.
pub const CK_ERROR_DEVICE_LOST: ck_status = 52;
/// Under stream capture: the problem was not given to ck_prepare, or the call may not be captured.
pub const CK_ERROR_NOT_PREPARED: ck_status = 70;
/// The context's GPU was opened by a parent process.
pub const CK_ERROR_FORKED: ck_status = 71;
/// A defect of the library. Please report it with ck_last_error().
pub const CK_ERROR_INTERNAL: ck_status = 90;
pub const CK_DTYPE_NONE: ck_dtype = 0;
pub const CK_F32: ck_dtype = 1;
/// IEEE binary16
pub const CK_F16: ck_dtype = 2;
/// bfloat16: the upper half of a float32
pub const CK_BF16: ck_dtype = 3;
/// OCP e4m3fn: bias 7, largest 448, no infinities, NaN is 0x7F; encoded rne, saturating
pub const CK_F8_E4M3: ck_dtype = 4;
pub const CK_I8: ck_dtype = 10;
pub const CK_I32: ck_dtype = 11;
pub const CK_LOG_OFF: i32 = 0;
pub const CK_LOG_ERROR: i32 = 1;
pub const CK_LOG_WARN: i32 = 2;
pub const CK_LOG_INFO: i32 = 3;
/// one machine-readable line for each call that runs a variant: operator, problem, device,
/// candidates, variant; a call with nothing to compute (a zero extent) has none
pub const CK_LOG_DISPATCH: i32 = 4;
pub const CK_LOG_DEBUG: i32 = 5;
pub const CK_LOG_TRACE: i32 = 6;
/// a usable GPU (HIP before CUDA, discrete before integrated); the CPU where no GPU is
pub const CK_BACKEND_AUTO: ck_backend = 0;
pub const CK_BACKEND_CPU: ck_backend = 1;
pub const CK_BACKEND_HIP: ck_backend = 2;
pub const CK_BACKEND_CUDA: ck_backend = 3;
/// shares its memory with the host
pub const CK_DEVICE_INTEGRATED: u32 = 1;
/// HSA_OVERRIDE_GFX_VERSION is in force: arch may not be the chip's own
pub const CK_DEVICE_OVERRIDDEN: u32 = 2;
/// no code for it is built in: the HIP runtime's compiler makes an operator's
/// on first use or in ck_prepare, which takes seconds
pub const CK_DEVICE_COMPILED: u32 = 4;
/// With CK_BACKEND_AUTO: take the CPU when GPUs are present and none is usable (otherwise an error).
pub const CK_CONTEXT_ALLOW_CPU_FALLBACK: u32 = 1;
pub const CK_COPY_HOST_TO_DEVICE: ck_copy_kind = 1;
pub const CK_COPY_DEVICE_TO_HOST: ck_copy_kind = 2;
pub const CK_COPY_DEVICE_TO_DEVICE: ck_copy_kind = 3;
/// args: ck_int8_gemm_args
pub const CK_OP_INT8_GEMM: ck_op = 1;
/// args: ck_int8_quantize_args
pub const CK_OP_INT8_QUANTIZE: ck_op = 2;
/// args: ck_int8_linear_args
pub const CK_OP_INT8_LINEAR: ck_op = 3;
/// args: ck_rotate_args
pub const CK_OP_ROTATE: ck_op = 4;
/// args: ck_w4a8_requant_args
pub const CK_OP_W4A8_REQUANT: ck_op = 5;
/// args: ck_w4a8_choose_codebook_args
pub const CK_OP_W4A8_CHOOSE_CODEBOOK: ck_op = 6;
/// args: ck_w4a8_dequant_args
pub const CK_OP_W4A8_DEQUANT: ck_op = 7;
/// args: ck_w4a8_linear_args
pub const CK_OP_W4A8_LINEAR: ck_op = 8;
/// args: ck_na3d_args
pub const CK_OP_NA3D: ck_op = 9;
/// args: ck_int8_error_args
pub const CK_OP_INT8_ERROR: ck_op = 10;
/// one float32 per row of A, or per row of B (that is: per column of C)
pub const CK_SCALE_VECTOR: ck_scale_mode = 0;
/// one float32 in all, still device memory
pub const CK_SCALE_SCALAR: ck_scale_mode = 1;
pub const CK_ACTIVATION_NONE: ck_activation = 0;
/// (0.5\*x) \* (1 + (1 - 2/(exp32(2\*y) + 1))), y = 0.7978845608\*(x + 0.044715\*((x\*x)\*x))
pub const CK_ACTIVATION_GELU_TANH: ck_activation = 1;
/// an input row is \[gate \| up\], 2k wide; (gate / (1 + exp32(-gate))) \* up, k wide
pub const CK_ACTIVATION_SWIGLU: ck_activation = 2;
pub const CK_W4A8_CODEBOOK: ck_w4a8_layout = 0;
pub const CK_W4A8_UNIFORM: ck_w4a8_layout = 1;
pub const CK_W4A8_ASYMMETRIC: ck_w4a8_layout = 2;
/// Refuse a window that does not fit its axis (kernel \* dilation \> length of a non-causal axis) instead of
/// clamping the kernel to the axis.
pub const CK_NA3D_STRICT_WINDOW: u32 = 1;
/// Take the strides as they are even when all five of a tensor are 0 (a tensor broadcast over every axis).
pub const CK_NA3D_EXPLICIT_STRIDES: u32 = 2;

/// Filled by ck_device_info and ck_context_info. Texts end with NUL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_device_properties {
    pub struct_size: u32,
    /// CK_BACKEND_CPU, _HIP or _CUDA
    pub backend: ck_backend,
    /// as the runtime numbers it; 0 on the CPU
    pub ordinal: i32,
    /// CK_OK, or why a context cannot be made on it
    pub usable: ck_status,
    /// CK_DEVICE_ bits
    pub flags: u32,
    /// CUs, SMs, or hardware threads available to this process on the CPU
    pub compute_units: i32,
    /// total memory of the device
    pub memory_bytes: i64,
    /// LDS a workgroup may use; 0 on the CPU
    pub shared_memory_bytes: i64,
    /// marketing name
    pub name: [c_char; 128],
    /// "gfx1201", "sm_90", or the CPU's ISA level, for example "x86-64-v3"
    pub arch: [c_char; 64],
    /// what kernels may use, space-separated, for example "dot4 wmma_gfx12"
    pub features: [c_char; 256],
    /// "" when usable
    pub unusable_reason: [c_char; 256],
}

const _: () = assert!(core::mem::size_of::<ck_device_properties>() == 744);

impl Default for ck_device_properties {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_context_options {
    pub struct_size: u32,
    /// CKITCHEN_BACKEND replaces CK_BACKEND_AUTO
    pub backend: ck_backend,
    /// device number of the backend; must be 0 with CK_BACKEND_AUTO
    pub ordinal: i32,
    /// CPU backend: threads, 0 = all that this process may use; at most 1024
    pub threads: i32,
    /// CK_CONTEXT_ bits
    pub flags: u32,
    /// must be 0
    pub reserved0: u32,
    /// operators to switch off, comma-separated names without "ck_"; NULL = none.
    /// Direct calls are refused; a linear goes on using what it is made of
    pub disable: *const c_char,
    /// GPU runtime library to open; NULL = CKITCHEN_HIP_LIBRARY or
    /// CKITCHEN_CUDA_LIBRARY, else the copy already in the process, else a list of
    /// known names. A process opens one library of a kind: once it is open, a path
    /// must name it. With CK_BACKEND_AUTO only the devices of that library count
    pub runtime_path: *const c_char,
}

const _: () = assert!(core::mem::size_of::<ck_context_options>() == 40);

impl Default for ck_context_options {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Filled by \<op\>_supported. The function's own result says only whether the question could be answered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_support_info {
    pub struct_size: u32,
    /// what the operator would return before it launches anything
    pub status: ck_status,
    /// the variant that would run, "" when none
    pub variant: [c_char; 64],
    /// why not, "" when status is CK_OK
    pub reason: [c_char; 256],
}

const _: () = assert!(core::mem::size_of::<ck_support_info>() == 328);

impl Default for ck_support_info {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// One entry of ck_prepare's list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_problem {
    pub struct_size: u32,
    pub op: ck_op,
    /// the operator's args struct; data pointers may be NULL, as in \<op\>_supported
    pub args: *const c_void,
}

const _: () = assert!(core::mem::size_of::<ck_problem>() == 16);

impl Default for ck_problem {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// One line of the context's table of variants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_variant_info {
    pub struct_size: u32,
    pub op: ck_op,
    /// successful operator calls through this context that ran it
    pub calls: u64,
    pub name: [c_char; 64],
}

const _: () = assert!(core::mem::size_of::<ck_variant_info>() == 80);

impl Default for ck_variant_info {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// C[M,N] = epilogue(A[M,K] * B[N,K]^T), bit-exact:
///
///   acc = sum over k of A[i,k] * B[j,k]     exact, int32
///   v   = float32(acc)                      rne
///   v   = (v * scale_a[i]) * scale_b[j]     two rounded products, in this order
///   v   = v + float32(bias[j])              only with a bias
///   C   = cast(v)                           or C = acc when out_dtype is CK_I32: no scale, no bias
///
/// Without a bias nothing is added, so acc == 0 with a negative scale gives -0.0. K == 0 is legal: acc is 0.
/// A NaN or infinite scale propagates.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_int8_gemm_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16, CK_BF16 or CK_I32
    pub out_dtype: ck_dtype,
    /// \>= 0; k \<= 131071, the most that int32 accumulation guarantees
    pub m: i64,
    /// \>= 0; k \<= 131071, the most that int32 accumulation guarantees
    pub n: i64,
    /// \>= 0; k \<= 131071, the most that int32 accumulation guarantees
    pub k: i64,
    /// int8 \[m, lda\]; required unless m, n or k is 0
    pub a: *const c_void,
    /// \>= k
    pub lda: i64,
    /// int8 \[n, ldb\]; required unless m, n or k is 0
    pub b: *const c_void,
    /// \>= k
    pub ldb: i64,
    /// out_dtype \[m, ldc\]; required unless m or n is 0
    pub c: *mut c_void,
    /// \>= n
    pub ldc: i64,
    /// \[m\] or one; required unless out_dtype is CK_I32
    pub scale_a: *const f32,
    /// \[n\] or one; required unless out_dtype is CK_I32
    pub scale_b: *const f32,
    /// CK_SCALE_
    pub scale_a_mode: ck_scale_mode,
    pub scale_b_mode: ck_scale_mode,
    /// bias_dtype \[n\]; NULL = none
    pub bias: *const c_void,
    /// CK_F32, CK_F16 or CK_BF16; required with a bias, may be 0 without
    pub bias_dtype: ck_dtype,
    /// must be 0
    pub reserved0: u32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_int8_gemm_args>() == 136);

impl Default for ck_int8_gemm_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// Rotates each contiguous block of `group` columns by the regular Hadamard matrix
/// kron(H4,...,H4)/sqrt(group), H4 = [[1,1,1,-1],[1,1,-1,1],[1,-1,1,1],[-1,1,1,1]]: symmetric and its own
/// inverse, so the same call un-rotates. Bit-exact, in float32: stages of stride s = 1, 4, 16, ... below
/// group; in each, for every i with (i div s) mod 4 == 0, the values a, b, c, e at i, i+s, i+2s, i+3s become
///
///   ((a+b)+c)-e    ((a+b)-c)+e    ((a-b)+c)+e    ((b-a)+c)+e
///
/// then one product with 1/sqrt(group), a power of two; then one rounding to dtype. y may be x itself (same
/// pointer and leading dimension).
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_rotate_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of x and y
    pub dtype: ck_dtype,
    /// \>= 0
    pub rows: i64,
    /// \>= 0
    pub k: i64,
    /// \[rows, ldx\]; required unless rows or k is 0
    pub x: *const c_void,
    /// \>= k
    pub ldx: i64,
    /// \[rows, ldy\]; required unless rows or k is 0
    pub y: *mut c_void,
    /// \>= k
    pub ldy: i64,
    /// required: 4, 16, 64, 256 or 1024; divides k
    pub group: i32,
    /// must be 0
    pub reserved0: u32,
}

const _: () = assert!(core::mem::size_of::<ck_rotate_args>() == 64);

impl Default for ck_rotate_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// Symmetric int8 quantization of rows, with an optional activation and rotation in front, bit-exact:
///
///   amax  = max |x| over the row's finite x (0 when there is none)     scale = max(amax / 127, 1e-30)
///   q     = clamp(rne(x / scale), -128, 127); +inf -> 127, -inf -> -128, NaN -> 0
///
/// The order is activation (float32), rotation, quantization. With a rotation the quantizer reads values
/// rounded to dtype (the rotation's result); with an activation and no rotation it reads the float32 result.
/// An all-zero row and k == 0 give the scale 1e-30.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_int8_quantize_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of x
    pub dtype: ck_dtype,
    /// \>= 0; k is the width of q: x is 2k wide with CK_ACTIVATION_SWIGLU
    pub rows: i64,
    /// \>= 0; k is the width of q: x is 2k wide with CK_ACTIVATION_SWIGLU
    pub k: i64,
    /// dtype \[rows, ldx\]; required unless rows or k is 0
    pub x: *const c_void,
    /// \>= k, or \>= 2k with CK_ACTIVATION_SWIGLU
    pub ldx: i64,
    /// int8 \[rows, ldq\]; required unless rows or k is 0
    pub q: *mut c_void,
    /// \>= k
    pub ldq: i64,
    /// \[rows\]; required unless rows is 0
    pub scale: *mut f32,
    /// CK_ACTIVATION_
    pub activation: ck_activation,
    /// 0 = none, or 4, 16, 64, 256, 1024; divides k
    pub rotate_group: i32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_int8_quantize_args>() == 88);

impl Default for ck_int8_quantize_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// How far int8 rows are from the floats that they stand for: two sums over every row, bit-exact.
///
///   v = float32(q) * scale, then rotated in float32 (which undoes a rotation);  d = v - float32(x)
///   difference = sum of d * d;  original = sum of float32(x)^2    the squares are exact in float64
///
/// sqrt(sum of difference / sum of original) over all rows is the relative error of the tensor. The grid that
/// ck_w4a8_dequant gives as CK_I8 with s_channel as its scale is a W4A8 weight (without a correction).
///
/// The float64 sums have one order. halve(v) adds the second half of v to its first, element by element, until
/// one is left. With columns beyond k as 0:
///   p_i = halve(16 columns from 16*i on);  c_j = halve(p_i for the 64 i from 64*j on)
///   a_l = c_l + c_(l+8) + c_(l+16) ..., from left to right, for l = 0 to 7;  sum = halve(a_0 to a_7)
///
/// k == 0 gives sums of 0; a NaN or an infinity propagates.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_int8_error_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of x
    pub dtype: ck_dtype,
    /// \>= 0
    pub rows: i64,
    /// \>= 0
    pub k: i64,
    /// the original: dtype \[rows, ldx\]; required unless rows or k is 0
    pub x: *const c_void,
    /// \>= k
    pub ldx: i64,
    /// int8 \[rows, ldq\]; required unless rows or k is 0
    pub q: *const c_void,
    /// \>= k
    pub ldq: i64,
    /// \[rows\] or one; required unless rows or k is 0
    pub scale: *const f32,
    /// CK_SCALE_
    pub scale_mode: ck_scale_mode,
    /// 0 = none, or 4, 16, 64, 256, 1024; divides k
    pub rotate_group: i32,
    /// \[rows\]; required unless rows is 0
    pub difference: *mut f64,
    /// \[rows\]; required unless rows is 0
    pub original: *mut f64,
}

const _: () = assert!(core::mem::size_of::<ck_int8_error_args>() == 88);

impl Default for ck_int8_error_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// y\[M,N\] = INT8 GEMM of the quantized x and w: ck_int8_quantize (activation, rotation) then ck_int8_gemm with
/// the row scales as scale_a, bit-exact. w is a weight that was rotated with the same group, rounded to its
/// dtype and row-quantized without an activation; w_scale are its scales.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_int8_linear_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16
    pub x_dtype: ck_dtype,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub m: i64,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub n: i64,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub k: i64,
    /// x_dtype \[m, ldx\]; required unless m, n or k is 0
    pub x: *const c_void,
    /// \>= k, or \>= 2k with CK_ACTIVATION_SWIGLU
    pub ldx: i64,
    /// int8 \[n, ldw\]; required unless m, n or k is 0
    pub w: *const c_void,
    /// \>= k
    pub ldw: i64,
    /// \[n\] or one; required unless m or n is 0
    pub w_scale: *const f32,
    /// bias_dtype \[n\]; NULL = none
    pub bias: *const c_void,
    /// out_dtype \[m, ldy\]; required unless m or n is 0
    pub y: *mut c_void,
    /// \>= n
    pub ldy: i64,
    /// required: CK_F32, CK_F16 or CK_BF16
    pub out_dtype: ck_dtype,
    /// CK_F32, CK_F16 or CK_BF16; required with a bias
    pub bias_dtype: ck_dtype,
    /// CK_SCALE_
    pub w_scale_mode: ck_scale_mode,
    /// CK_ACTIVATION_
    pub activation: ck_activation,
    /// 0 = none, or 4, 16, 64, 256, 1024; divides k
    pub rotate_group: i32,
    /// must be 0
    pub reserved0: u32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_int8_linear_args>() == 136);

impl Default for ck_int8_linear_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// Quantizes a float weight [N,K]. Bit-exact. |w| < 2^100. A non-finite element counts as 0 and is counted;
/// what a rotation overflows to infinity counts as 0 too, uncounted.
///
///   nearest(x, L)  pos = number of L[j] < x; lo = clamp(pos-1, 0, 15); hi = clamp(pos, 0, 15); hi if
///                  |x - L[hi]| < |x - L[lo]|, else lo (so a tie takes the lower; equal levels are legal)
///   treesum        in pairs inside each 16 columns: (((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7))) + the same of p8
///                  to p15; or inside the whole group when g is 4 or 8. Then from left to right
///
/// CODEBOOK c:   gs = max(max|w|, 1e-8);  code_i = nearest(w_i / gs, c)
///               twice: num = treesum(w_i * c[code_i]);  den = treesum(c[code_i] * c[code_i])
///                      gs = max(num / max(den, 1e-8), 1e-8);  code_i = nearest(w_i / gs, c)
///               s_channel = max(max over the row |c[code_i] * gs| / 127, 1e-8);  s_rel = cast(gs / s_channel)
///               L_j = clamp(rne(c_j * float32(s_rel)), -127, 127);  code_i = nearest(w_i / s_channel, L)
/// UNIFORM:      gs = max(max|w| / 7, 1e-8);            code = clamp(round(w / gs), -8, 7) + 8
/// ASYMMETRIC:   gs = max((max w - min w) / 15, 1e-8);  code = clamp(round((w - min) / gs), 0, 15)
///               correction = cast(8 * gs + min)
///   both:       s_channel = max(max over the row |(code - 8) * gs| / 127, 1e-8)
///               s_rel = cast(gs / s_channel)
///
/// Without a seed round(t) is rne(t). Stochastic rounding (seed != 0) draws u in [0,1) from the seed and the
/// element's place in the whole tensor alone, so the result depends neither on the backend nor on how the rows
/// are cut into calls. In uint32 arithmetic, lo32 and hi32 being the halves of a uint64:
///
///   h = lo32((row_offset + row) * k + col) ^ lo32(seed) ^ hi32(seed)
///   h = h * 747796405 + 2891336453;   h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737;   h = (h >> 22) ^ h
///   u = (h >> 8) * 2^-24
///
/// CODEBOOK:     scales as without a seed;  x = w_i / s_channel;  lo = clamp(pos-1, 0, 14), pos as in nearest
///               code_i = lo + 1 if x > u * (L[lo+1] - L[lo]) + L[lo], else lo
/// the others:   round(t) = floor(t + u)
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_w4a8_requant_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of weight and correction
    pub dtype: ck_dtype,
    /// \>= 0
    pub n: i64,
    /// \>= 0
    pub k: i64,
    /// dtype \[n, ldw\]; required unless n or k is 0
    pub weight: *const c_void,
    /// \>= k
    pub ldw: i64,
    /// required: 4, 8, or a multiple of 16; divides k
    pub group: i32,
    /// CK_W4A8_
    pub layout: ck_w4a8_layout,
    /// 0: weight is already rotated (or needs no rotation); 4, 16, 64, 256, 1024: rotate
    /// it first, rounded to dtype; divides k
    pub rotate_group: i32,
    /// 0 or CK_F8_E4M3, or CK_F32
    pub s_rel_dtype: ck_dtype,
    /// 0: round to nearest; else the seed of stochastic rounding
    pub seed: u64,
    /// place of the first given row in the whole tensor; matters only with a seed
    pub row_offset: u64,
    /// \[16\] ascending (equal levels are legal); NULL = the default; CODEBOOK only
    pub codebook: *const f32,
    /// int8 \[n, ld_packed\]; required unless n or k is 0
    pub packed: *mut c_void,
    /// in bytes, \>= k/2
    pub ld_packed: i64,
    /// s_rel_dtype \[n, ld_s_rel\]; required unless n or k is 0
    pub s_rel: *mut c_void,
    /// \>= k/group
    pub ld_s_rel: i64,
    /// \[n\]; required unless n or k is 0
    pub s_channel: *mut f32,
    /// dtype \[k/group, ld_correction\]; required for ASYMMETRIC, NULL otherwise
    pub correction: *mut c_void,
    /// \>= n
    pub ld_correction: i64,
    /// the number of non-finite elements is added to it; NULL = not wanted
    pub nonfinite: *mut u64,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_w4a8_requant_args>() == 160);

impl Default for ck_w4a8_requant_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Chooses the 16 levels for a (rotated) weight. R = min(n, max(1, 4194304 div k)) rows are read, row i being
/// floor(i\*n/R); values are divided by their group's max(max\|w\|, 1e-8) over its finite elements, in float32;
/// non-finite ones are left out; the rest is float64. Excess kurtosis \<= -0.1, zero variance or nothing
/// finite: the default codebook. Otherwise 16 levels from the quantiles j/15 by 25 passes of nearest
/// assignment and cell means (an empty cell keeps its level), rounded to float32. Deterministic. Backends
/// agree to 1e-6 relative.
///
/// Blocks until the codebook is written; refused under capture.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_w4a8_choose_codebook_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of weight
    pub dtype: ck_dtype,
    /// \>= 0; with a zero extent the default codebook is written
    pub n: i64,
    /// \>= 0; with a zero extent the default codebook is written
    pub k: i64,
    /// dtype \[n, ldw\]; required unless n or k is 0
    pub weight: *const c_void,
    /// \>= k
    pub ldw: i64,
    /// required: 4, 8, or a multiple of 16; divides k
    pub group: i32,
    /// must be 0
    pub reserved0: u32,
    /// \[16\], written; required
    pub codebook: *mut f32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_w4a8_choose_codebook_args>() == 72);

impl Default for ck_w4a8_choose_codebook_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// Decodes a quantized weight to its int8 grid (out_dtype CK_I8) or to floats, bit-exact. The float result is
/// un-rotated in float32 when rotate_group is given, and cast once at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_w4a8_dequant_args {
    pub struct_size: u32,
    /// required: CK_I8 (the grid), CK_F32, CK_F16 or CK_BF16
    pub out_dtype: ck_dtype,
    /// \>= 0
    pub n: i64,
    /// \>= 0
    pub k: i64,
    /// required: 4, 8, or a multiple of 16; divides k
    pub group: i32,
    /// CK_W4A8_
    pub layout: ck_w4a8_layout,
    /// 0 or CK_F8_E4M3, or CK_F32
    pub s_rel_dtype: ck_dtype,
    /// 0 = leave as it is, or the group to un-rotate with; must be 0 for CK_I8
    pub rotate_group: i32,
    /// int8 \[n, ld_packed\]; required unless n or k is 0
    pub packed: *const c_void,
    /// in bytes, \>= k/2
    pub ld_packed: i64,
    /// \[n, ld_s_rel\]; required unless n or k is 0
    pub s_rel: *const c_void,
    /// \>= k/group
    pub ld_s_rel: i64,
    /// \[n\]; required for floats unless n or k is 0
    pub s_channel: *const f32,
    /// \[16\]; NULL = the default; CODEBOOK only
    pub codebook: *const f32,
    /// correction_dtype \[k/group, ld_correction\]; required for ASYMMETRIC floats
    pub correction: *const c_void,
    /// \>= n
    pub ld_correction: i64,
    /// CK_F32, CK_F16 or CK_BF16; required with a correction
    pub correction_dtype: ck_dtype,
    /// must be 0
    pub reserved0: u32,
    /// out_dtype \[n, ldo\]; required unless n or k is 0
    pub out: *mut c_void,
    /// \>= k
    pub ldo: i64,
}

const _: () = assert!(core::mem::size_of::<ck_w4a8_dequant_args>() == 128);

impl Default for ck_w4a8_dequant_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// y\[M,N\] = x \* W^T with a W4A8 weight, bit-exact: x is quantized as in ck_int8_quantize (activation,
/// rotation), then ck_int8_gemm's steps with the decoded int8 grid as B and s_channel as scale_b. With a
/// correction, v = v + (float32(sum of the group's q) \* scale_a\[i\]) \* float32(correction\[grp,j\]), for grp
/// ascending, comes before the bias.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_w4a8_linear_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16
    pub x_dtype: ck_dtype,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub m: i64,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub n: i64,
    /// \>= 0; k \<= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU
    pub k: i64,
    /// x_dtype \[m, ldx\]; required unless m, n or k is 0
    pub x: *const c_void,
    /// \>= k, or \>= 2k with CK_ACTIVATION_SWIGLU
    pub ldx: i64,
    /// int8 \[n, ld_packed\]; required unless m, n or k is 0
    pub packed: *const c_void,
    /// in bytes, \>= k/2
    pub ld_packed: i64,
    /// \[n, ld_s_rel\]; required unless m, n or k is 0
    pub s_rel: *const c_void,
    /// \>= k/group
    pub ld_s_rel: i64,
    /// \[n\]; required unless m or n is 0
    pub s_channel: *const f32,
    /// \[16\]; NULL = the default; CODEBOOK only
    pub codebook: *const f32,
    /// correction_dtype \[k/group, ld_correction\]; required for ASYMMETRIC
    pub correction: *const c_void,
    /// \>= n
    pub ld_correction: i64,
    /// bias_dtype \[n\]; NULL = none
    pub bias: *const c_void,
    /// out_dtype \[m, ldy\]; required unless m or n is 0
    pub y: *mut c_void,
    /// \>= n
    pub ldy: i64,
    /// required: 4, 8, or a multiple of 16; divides k
    pub group: i32,
    /// CK_W4A8_
    pub layout: ck_w4a8_layout,
    /// 0 or CK_F8_E4M3, or CK_F32
    pub s_rel_dtype: ck_dtype,
    /// CK_F32, CK_F16 or CK_BF16; required with a correction
    pub correction_dtype: ck_dtype,
    /// required: CK_F32, CK_F16 or CK_BF16
    pub out_dtype: ck_dtype,
    /// CK_F32, CK_F16 or CK_BF16; required with a bias
    pub bias_dtype: ck_dtype,
    /// CK_ACTIVATION_
    pub activation: ck_activation,
    /// 0 = none, or 4, 16, 64, 256, 1024; divides k
    pub rotate_group: i32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_w4a8_linear_args>() == 184);

impl Default for ck_w4a8_linear_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

/// ```text
/// out = softmax(scale * q.k) . v over a window on each of three axes; a 2-D problem has t = 1, a 1-D one t =
/// h = 1. Index i of an axis of length L with dilation d lies in the residue class i mod d, whose length is
/// Ld; m = i div d is its place there:
///
///   not causal:  kk = min(kernel, Ld);  lo = min(max(m - kk div 2, 0), Ld - kk);  the window is [lo, lo + kk)
///   causal:      [max(0, m - kernel + 1), m + 1)
///
/// mapped back by i mod d + d*j. A query attends the product of its three windows.
///
/// Not bit-exact; logits, softmax and accumulation are float32, probabilities may be rounded to the 16-bit
/// input type. Against the float64 result, with X the largest |scale| * sum over d of |q_d * k_d| of any query
/// and a key of its window: the relative L2 error over the tensor is at most 4e-3 (bf16), 6e-4 (f16), 2e-6
/// (f32), each plus 2^-23 * X; where the result's norm is 0 the output is 0; each element is within 2e-2,
/// 3e-3, 2e-5, each plus 2^-22 * X, times the largest |v|. A subnormal result may be off by half its dtype's
/// smallest step besides. Logits of any size stay finite. Non-finite inputs give any values, but no fault.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ck_na3d_args {
    pub struct_size: u32,
    /// required: CK_F32, CK_F16 or CK_BF16; of all four tensors
    pub dtype: ck_dtype,
    /// \>= 0
    pub batch: i64,
    /// \>= 0
    pub t: i64,
    /// \>= 0
    pub h: i64,
    /// \>= 0
    pub w: i64,
    /// \>= 0
    pub heads: i64,
    /// a multiple of 8, 8 to 256 (or 0)
    pub head_dim: i64,
    /// \[batch, t, h, w, heads, head_dim\], strided; required unless an extent is 0
    pub q: *const c_void,
    /// likewise
    pub k: *const c_void,
    /// likewise
    pub v: *const c_void,
    /// likewise
    pub out: *mut c_void,
    /// in elements, of batch, t, h, w, heads; the head_dim axis is contiguous. All five 0
    /// = the packed tensor. Negative and, for inputs, 0 are legal; the stride of an axis
    /// of extent 1 is not read. Elements of `out` must not overlap each other
    pub q_stride: [i64; 5],
    pub k_stride: [i64; 5],
    pub v_stride: [i64; 5],
    pub out_stride: [i64; 5],
    /// required, with a zero extent too: \>= 1, of t, h, w; even sizes are legal
    pub kernel: [i32; 3],
    /// \>= 1; 0 = 1
    pub dilation: [i32; 3],
    /// 0 or 1
    pub causal: [i32; 3],
    /// 0 = head_dim^-0.5; must be finite, may be negative
    pub scale: f32,
    /// CK_NA3D_ bits
    pub flags: u32,
    /// must be 0
    pub reserved0: u32,
    pub workspace: *mut c_void,
    pub workspace_size: u64,
}

const _: () = assert!(core::mem::size_of::<ck_na3d_args>() == 312);

impl Default for ck_na3d_args {
    /// All zero but `struct_size`, like CK_INIT.
    fn default() -> Self {
        // SAFETY: integers, floats and raw pointers, for all of which zero bytes are a value.
        let mut value: Self = unsafe { core::mem::zeroed() };
        value.struct_size = core::mem::size_of::<Self>() as u32;
        value
    }
}

extern "C" {
    /// CK_VERSION of the library that is loaded, which may differ from the header's. Never fails. Since 0.1.
    pub fn ck_version() -> u32;
    /// The name of a status, for example "CK_ERROR_NO_DEVICE"; "CK_ERROR_UNKNOWN" for a number this library does
    /// not know. Static text, never NULL. Since 0.1.
    pub fn ck_status_string(status: ck_status) -> *const c_char;
    /// The calling thread's text for its most recent failing call, one line, never NULL, "" before any failure.
    /// Valid until the next failing call on the same thread. Since 0.1.
    pub fn ck_last_error() -> *const c_char;
    /// ```text
    /// Sends log lines of `level` and more severe ones to `callback` instead of stderr. callback NULL: back to
    /// stderr at the level of CKITCHEN_LOG (off by default). Process-wide; thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  level is not a CK_LOG_ value
    /// ```
    pub fn ck_set_log_callback(callback: ck_log_callback, user: *mut c_void, level: i32) -> ck_status;
    /// ```text
    /// Number of devices of a backend, unusable ones included. CK_BACKEND_AUTO counts all GPUs and the CPU. The
    /// first call for a GPU backend opens its runtime; a failure is not remembered. A backend without a runtime
    /// or without a driver has 0 devices, which is a success: ck_last_error() is not changed and
    /// ck_context_create says the reason. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  backend unknown, count NULL
    /// ```
    pub fn ck_device_count(backend: ck_backend, count: *mut i32) -> ck_status;
    /// ```text
    /// Describes device `ordinal` of a backend (for CK_BACKEND_AUTO: of HIP's, then CUDA's, then the CPU).
    /// info->struct_size is set by the caller. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  backend unknown, info NULL, ordinal negative
    ///   CK_ERROR_NO_DEVICE         ordinal >= ck_device_count
    /// ```
    pub fn ck_device_info(backend: ck_backend, ordinal: i32, info: *mut ck_device_properties) -> ck_status;
    /// The GPU targets whose code is built into this library, space-separated, in arch.json's order; "" when
    /// none. Static text. Since 0.1.
    pub fn ck_builtin_targets() -> *const c_char;
    /// ```text
    /// Makes a context. options NULL means all defaults. The texts are copied. On success *context is owned by the
    /// caller until ck_context_destroy; on failure it is set to NULL. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT       context NULL, an option out of range, another runtime_path than is open
    ///   CK_ERROR_INVALID_CONFIGURATION  an environment variable or `disable` names something unknown
    ///   CK_ERROR_NO_RUNTIME, _NO_DEVICE, _UNSUPPORTED_ARCH  with the reason in ck_last_error()
    ///   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST
    /// ```
    pub fn ck_context_create(options: *const ck_context_options, context: *mut *mut ck_context) -> ck_status;
    /// Destroys a context. No call on it may be in progress. Work that is enqueued goes on; what code it needs
    /// stays loaded. NULL is allowed. Since 0.1.
    pub fn ck_context_destroy(context: *mut ck_context);
    /// ```text
    /// Describes the context's device. info->struct_size is set by the caller. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context or info NULL
    /// ```
    pub fn ck_context_info(context: *const ck_context, info: *mut ck_device_properties) -> ck_status;
    /// ```text
    /// Allocates `bytes` of the context's device memory, 256-byte aligned. 0 bytes gives NULL. Thread-safe.
    /// Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context or pointer NULL
    ///   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED
    /// ```
    pub fn ck_malloc(context: *mut ck_context, bytes: u64, pointer: *mut *mut c_void) -> ck_status;
    /// Frees memory from ck_malloc of the same context. NULL is allowed. May wait for the device. Thread-safe.
    /// Since 0.1.
    pub fn ck_free(context: *mut ck_context, pointer: *mut c_void) -> ck_status;
    /// ```text
    /// Copies bytes in stream order and returns when the copy is complete. The ranges must not overlap. Not under
    /// capture. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context NULL, kind unknown, a NULL pointer with bytes > 0, overlap
    /// ```
    pub fn ck_copy(context: *mut ck_context, destination: *mut c_void, source: *const c_void, bytes: u64, kind: ck_copy_kind, stream: *mut c_void) -> ck_status;
    /// ```text
    /// Allocates `bytes` of host memory that copies need not stage (page-locked, for every device of the backend;
    /// on the CPU backend ordinary memory), 256-byte aligned. 0 bytes gives NULL. Costs milliseconds: allocate
    /// once and keep it. It is taken from the machine as a whole, so keep it small. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context or pointer NULL
    ///   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED
    /// ```
    pub fn ck_host_malloc(context: *mut ck_context, bytes: u64, pointer: *mut *mut c_void) -> ck_status;
    /// Frees memory from ck_host_malloc of the same context, no copy of which may be on its way. NULL is allowed.
    /// May wait for the device. Thread-safe. Since 0.1.
    pub fn ck_host_free(context: *mut ck_context, pointer: *mut c_void) -> ck_status;
    /// ```text
    /// Enqueues a copy on the stream and returns. The ranges must not overlap, and both stay valid, the source
    /// unchanged, until the stream has passed the copy (ck_synchronize). Only copies from and to memory of
    /// ck_host_malloc, or other page-locked memory, run beside the work of other streams and of the host; with
    /// other host memory the call may take as long as the copy. The CPU backend copies before it returns. Not
    /// under capture. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context NULL, kind unknown, a NULL pointer with bytes > 0, overlap
    /// ```
    pub fn ck_copy_async(context: *mut ck_context, destination: *mut c_void, source: *const c_void, bytes: u64, kind: ck_copy_kind, stream: *mut c_void) -> ck_status;
    /// ```text
    /// Makes a native stream of the context's device (hipStream_t, CUstream) that neither waits for the default
    /// stream nor makes it wait; on the CPU backend *stream is NULL, which every function takes. Work on different
    /// streams may overlap. *stream is owned by the caller until ck_stream_destroy. Thread-safe.
    /// Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context or stream NULL
    ///   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED
    /// ```
    pub fn ck_stream_create(context: *mut ck_context, stream: *mut *mut c_void) -> ck_status;
    /// Destroys a stream from ck_stream_create of the same context; work on it must be finished. NULL is allowed.
    /// Thread-safe. Since 0.1.
    pub fn ck_stream_destroy(context: *mut ck_context, stream: *mut c_void) -> ck_status;
    /// ```text
    /// Waits until the work on the stream is finished and reports faults of it. Not under capture. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context NULL
    ///   CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED
    /// ```
    pub fn ck_synchronize(context: *mut ck_context, stream: *mut c_void) -> ck_status;
    /// ```text
    /// Loads everything that the listed problems would load lazily (code objects, kernels), so that calls for
    /// problems of the same shapes, dtypes and alignment only launch, also under capture. `problems` steps by the
    /// first entry's struct_size. Thread-safe. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context NULL, problems NULL with count > 0, an op unknown
    ///   the first failing problem's status otherwise; the text names its index
    /// ```
    pub fn ck_prepare(context: *mut ck_context, problems: *const ck_problem, count: u64) -> ck_status;
    /// The variant that the calling thread's last successful operator call ran, "" before any. Static text.
    /// Since 0.1.
    pub fn ck_last_variant() -> *const c_char;
    /// ```text
    /// Number of variants that the context's device could run. Since 0.1.
    ///   CK_ERROR_INVALID_ARGUMENT  context or count NULL
    /// ```
    pub fn ck_variant_count(context: *const ck_context, count: *mut u64) -> ck_status;
    /// ```text
    /// Describes variant `index` < ck_variant_count. info->struct_size is set by the caller. Thread-safe. Since
    /// 0.1. CK_ERROR_INVALID_ARGUMENT  context or info NULL, index out of range
    /// ```
    pub fn ck_get_variant_info(context: *const ck_context, index: u64, info: *mut ck_variant_info) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_int8_gemm(context: *mut ck_context, args: *const ck_int8_gemm_args, stream: *mut c_void) -> ck_status;
    pub fn ck_int8_gemm_supported(context: *mut ck_context, args: *const ck_int8_gemm_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_int8_gemm_workspace_size(context: *mut ck_context, args: *const ck_int8_gemm_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1.
    pub fn ck_rotate(context: *mut ck_context, args: *const ck_rotate_args, stream: *mut c_void) -> ck_status;
    pub fn ck_rotate_supported(context: *mut ck_context, args: *const ck_rotate_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_rotate_workspace_size(context: *mut ck_context, args: *const ck_rotate_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_int8_quantize(context: *mut ck_context, args: *const ck_int8_quantize_args, stream: *mut c_void) -> ck_status;
    pub fn ck_int8_quantize_supported(context: *mut ck_context, args: *const ck_int8_quantize_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_int8_quantize_workspace_size(context: *mut ck_context, args: *const ck_int8_quantize_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1.
    pub fn ck_int8_error(context: *mut ck_context, args: *const ck_int8_error_args, stream: *mut c_void) -> ck_status;
    pub fn ck_int8_error_supported(context: *mut ck_context, args: *const ck_int8_error_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_int8_error_workspace_size(context: *mut ck_context, args: *const ck_int8_error_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_int8_linear(context: *mut ck_context, args: *const ck_int8_linear_args, stream: *mut c_void) -> ck_status;
    pub fn ck_int8_linear_supported(context: *mut ck_context, args: *const ck_int8_linear_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_int8_linear_workspace_size(context: *mut ck_context, args: *const ck_int8_linear_args, bytes: *mut u64) -> ck_status;
    /// The 16 levels used where a codebook pointer is NULL: Lloyd-Max levels of a group-normalized Gaussian. Host
    /// memory, static. Since 0.1.
    pub fn ck_w4a8_default_codebook() -> *const f32;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_w4a8_requant(context: *mut ck_context, args: *const ck_w4a8_requant_args, stream: *mut c_void) -> ck_status;
    pub fn ck_w4a8_requant_supported(context: *mut ck_context, args: *const ck_w4a8_requant_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_w4a8_requant_workspace_size(context: *mut ck_context, args: *const ck_w4a8_requant_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_w4a8_choose_codebook(context: *mut ck_context, args: *const ck_w4a8_choose_codebook_args, stream: *mut c_void) -> ck_status;
    pub fn ck_w4a8_choose_codebook_supported(context: *mut ck_context, args: *const ck_w4a8_choose_codebook_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_w4a8_choose_codebook_workspace_size(context: *mut ck_context, args: *const ck_w4a8_choose_codebook_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1.
    pub fn ck_w4a8_dequant(context: *mut ck_context, args: *const ck_w4a8_dequant_args, stream: *mut c_void) -> ck_status;
    pub fn ck_w4a8_dequant_supported(context: *mut ck_context, args: *const ck_w4a8_dequant_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_w4a8_dequant_workspace_size(context: *mut ck_context, args: *const ck_w4a8_dequant_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_w4a8_linear(context: *mut ck_context, args: *const ck_w4a8_linear_args, stream: *mut c_void) -> ck_status;
    pub fn ck_w4a8_linear_supported(context: *mut ck_context, args: *const ck_w4a8_linear_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_w4a8_linear_workspace_size(context: *mut ck_context, args: *const ck_w4a8_linear_args, bytes: *mut u64) -> ck_status;
    /// Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses.
    pub fn ck_na3d(context: *mut ck_context, args: *const ck_na3d_args, stream: *mut c_void) -> ck_status;
    pub fn ck_na3d_supported(context: *mut ck_context, args: *const ck_na3d_args, info: *mut ck_support_info) -> ck_status;
    pub fn ck_na3d_workspace_size(context: *mut ck_context, args: *const ck_na3d_args, bytes: *mut u64) -> ck_status;
}

/// An operator, told by the type of its args.
pub trait Operator: Copy {
    /// `CK_OP_`.
    const OP: ck_op;
    /// The operator itself.
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status;
    /// `<op>_supported`.
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status;
    /// `<op>_workspace_size`.
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status;
}

impl Operator for ck_int8_gemm_args {
    const OP: ck_op = CK_OP_INT8_GEMM;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_int8_gemm;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_int8_gemm_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_int8_gemm_workspace_size;
}

impl Operator for ck_rotate_args {
    const OP: ck_op = CK_OP_ROTATE;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_rotate;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_rotate_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_rotate_workspace_size;
}

impl Operator for ck_int8_quantize_args {
    const OP: ck_op = CK_OP_INT8_QUANTIZE;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_int8_quantize;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_int8_quantize_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_int8_quantize_workspace_size;
}

impl Operator for ck_int8_error_args {
    const OP: ck_op = CK_OP_INT8_ERROR;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_int8_error;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_int8_error_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_int8_error_workspace_size;
}

impl Operator for ck_int8_linear_args {
    const OP: ck_op = CK_OP_INT8_LINEAR;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_int8_linear;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_int8_linear_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_int8_linear_workspace_size;
}

impl Operator for ck_w4a8_requant_args {
    const OP: ck_op = CK_OP_W4A8_REQUANT;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_w4a8_requant;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_w4a8_requant_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_w4a8_requant_workspace_size;
}

impl Operator for ck_w4a8_choose_codebook_args {
    const OP: ck_op = CK_OP_W4A8_CHOOSE_CODEBOOK;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_w4a8_choose_codebook;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_w4a8_choose_codebook_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_w4a8_choose_codebook_workspace_size;
}

impl Operator for ck_w4a8_dequant_args {
    const OP: ck_op = CK_OP_W4A8_DEQUANT;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_w4a8_dequant;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_w4a8_dequant_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_w4a8_dequant_workspace_size;
}

impl Operator for ck_w4a8_linear_args {
    const OP: ck_op = CK_OP_W4A8_LINEAR;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_w4a8_linear;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_w4a8_linear_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_w4a8_linear_workspace_size;
}

impl Operator for ck_na3d_args {
    const OP: ck_op = CK_OP_NA3D;
    const CALL: unsafe extern "C" fn(*mut ck_context, *const Self, *mut c_void) -> ck_status = ck_na3d;
    const SUPPORTED: unsafe extern "C" fn(*mut ck_context, *const Self, *mut ck_support_info) -> ck_status =
        ck_na3d_supported;
    const WORKSPACE_SIZE: unsafe extern "C" fn(*mut ck_context, *const Self, *mut u64) -> ck_status =
        ck_na3d_workspace_size;
}
