// Package ckitchen is libckitchen for Go: contexts, device memory, errors, and an operator a method.
//
// ckitchen.h is the manual for every field, status and operator. Operators take memory of the context's device, on the CPU
// backend too: Go's own memory, which the collector may move or free, is copied in and out of a Buffer. The args structs hold
// such pointers and are passed as they are.
//
// The library is found by pkg-config.
package ckitchen

// #cgo pkg-config: ckitchen
// #include <ckitchen.h>
// #include <stdlib.h>
import "C"

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"
)

// Error is a call that failed: its status and the library's text, which says which argument, its value, the limit.
type Error struct {
	Status Status
	Text   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s)", e.Text, e.Status)
}

// String is the status's name in C, for example "CK_ERROR_NO_DEVICE".
func (s Status) String() string {
	return C.GoString(C.ck_status_string(C.ck_status(s)))
}

// The text of a failure is the thread's own, so the goroutine keeps its thread until it has read it.
func check(call func() C.ck_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status == C.CK_OK {
		return nil
	}
	return &Error{Status(status), C.GoString(C.ck_last_error())}
}

// Text is what a fixed-size text of a struct says.
func Text(field []byte) string {
	if end := bytes.IndexByte(field, 0); end >= 0 {
		field = field[:end]
	}
	return string(field)
}

// LibraryVersion is the version of the library that is loaded: major * 1000000 + minor * 1000 + patch.
func LibraryVersion() uint32 {
	return uint32(C.ck_version())
}

// BuiltinTargets names the GPU targets whose code is built into the library, space-separated.
func BuiltinTargets() string {
	return C.GoString(C.ck_builtin_targets())
}

// Devices describes all devices of a backend, unusable ones included.
func Devices(backend Backend) ([]DeviceProperties, error) {
	var count C.int32_t
	err := check(func() C.ck_status { return C.ck_device_count(C.ck_backend(backend), &count) })
	if err != nil {
		return nil, err
	}
	devices := make([]DeviceProperties, count)
	for ordinal := range devices {
		info := &devices[ordinal]
		info.structSize = uint32(unsafe.Sizeof(*info))
		err = check(func() C.ck_status {
			return C.ck_device_info(C.ck_backend(backend), C.int32_t(ordinal), (*C.ck_device_properties)(unsafe.Pointer(info)))
		})
		if err != nil {
			return nil, err
		}
	}
	return devices, nil
}

// Options is ck_context_options; the zero value of every field is the library's default.
type Options struct {
	Backend     Backend
	Ordinal     int32
	Threads     int32
	Flags       uint32
	Disable     string
	RuntimePath string
}

// Context is one device of one backend. Many goroutines may use it at once. Close it when its buffers and streams are.
type Context struct {
	raw *C.ck_context
}

// NewContext makes a context. options nil means all defaults.
func NewContext(options *Options) (*Context, error) {
	raw := C.ck_context_options{struct_size: C.sizeof_ck_context_options}
	if options != nil {
		raw.backend = C.ck_backend(options.Backend)
		raw.ordinal = C.int32_t(options.Ordinal)
		raw.threads = C.int32_t(options.Threads)
		raw.flags = C.uint32_t(options.Flags)
		if options.Disable != "" {
			raw.disable = C.CString(options.Disable)
			defer C.free(unsafe.Pointer(raw.disable))
		}
		if options.RuntimePath != "" {
			raw.runtime_path = C.CString(options.RuntimePath)
			defer C.free(unsafe.Pointer(raw.runtime_path))
		}
	}
	context := &Context{}
	err := check(func() C.ck_status { return C.ck_context_create(&raw, &context.raw) })
	if err != nil {
		return nil, err
	}
	return context, nil
}

// Close destroys the context. No call on it may be in progress. Closing it again does nothing; calls on a closed context fail.
func (c *Context) Close() {
	C.ck_context_destroy(c.raw)
	c.raw = nil
}

func (c *Context) call(run func(*C.ck_context) C.ck_status) error {
	return check(func() C.ck_status { return run(c.raw) })
}

// Info describes the context's device.
func (c *Context) Info() (DeviceProperties, error) {
	var info DeviceProperties
	info.structSize = uint32(unsafe.Sizeof(info))
	err := c.call(func(context *C.ck_context) C.ck_status {
		return C.ck_context_info(context, (*C.ck_device_properties)(unsafe.Pointer(&info)))
	})
	return info, err
}

// Variants describes the variants that the context's device could run, and how often each has run.
func (c *Context) Variants() ([]VariantInfo, error) {
	var count C.uint64_t
	err := c.call(func(context *C.ck_context) C.ck_status { return C.ck_variant_count(context, &count) })
	variants := make([]VariantInfo, count)
	for index := 0; err == nil && index < len(variants); index++ {
		info := &variants[index]
		info.structSize = uint32(unsafe.Sizeof(*info))
		err = c.call(func(context *C.ck_context) C.ck_status {
			return C.ck_get_variant_info(context, C.uint64_t(index), (*C.ck_variant_info)(unsafe.Pointer(info)))
		})
	}
	if err != nil {
		return nil, err
	}
	return variants, nil
}

// Args is the args struct of any operator.
type Args interface {
	problem() (Op, unsafe.Pointer, uintptr)
}

// Prepare loads what an operator with these args would load on its first call, so that a call under capture only launches.
func (c *Context) Prepare(args Args) error {
	op, pointer, size := args.problem()
	// A problem points to its args, and C may not be given Go memory that points to Go memory.
	memory := C.malloc(C.size_t(size))
	defer C.free(memory)
	copy(unsafe.Slice((*byte)(memory), size), unsafe.Slice((*byte)(pointer), size))
	problem := C.ck_problem{struct_size: C.sizeof_ck_problem, op: C.ck_op(op), args: memory}
	return c.call(func(context *C.ck_context) C.ck_status { return C.ck_prepare(context, &problem, 1) })
}

// NewStream makes a native stream that neither waits for the default stream nor makes it wait; nil on the CPU backend.
func (c *Context) NewStream() (unsafe.Pointer, error) {
	var stream unsafe.Pointer
	err := c.call(func(context *C.ck_context) C.ck_status { return C.ck_stream_create(context, &stream) })
	return stream, err
}

// CloseStream destroys a stream of NewStream; work on it must be finished.
func (c *Context) CloseStream(stream unsafe.Pointer) error {
	return c.call(func(context *C.ck_context) C.ck_status { return C.ck_stream_destroy(context, stream) })
}

// Synchronize waits until the work on the stream is finished and reports faults of it.
func (c *Context) Synchronize(stream unsafe.Pointer) error {
	return c.call(func(context *C.ck_context) C.ck_status { return C.ck_synchronize(context, stream) })
}

// Buffer is memory of the context's device. It belongs to its maker, who closes it when no work uses it any more.
type Buffer struct {
	context *Context
	pointer unsafe.Pointer
	size    int
	closed  bool
}

// NewBuffer allocates bytes of device memory, not initialised.
func (c *Context) NewBuffer(size int) (*Buffer, error) {
	// C would take it for a very large one.
	if size < 0 {
		return nil, &Error{ErrorInvalidArgument, fmt.Sprintf("NewBuffer: size is %d, must be at least 0", size)}
	}
	buffer := &Buffer{context: c, size: size}
	err := c.call(func(context *C.ck_context) C.ck_status {
		return C.ck_malloc(context, C.uint64_t(size), &buffer.pointer)
	})
	if err != nil {
		return nil, err
	}
	return buffer, nil
}

// Close frees the memory. Closing it again does nothing.
func (b *Buffer) Close() error {
	pointer := b.pointer
	b.pointer, b.size, b.closed = nil, 0, true
	return b.context.call(func(context *C.ck_context) C.ck_status { return C.ck_free(context, pointer) })
}

// Pointer is what the fields of args take. Arithmetic on it is unsafe.Add's. Of a closed buffer it panics: nil is a valid argument
// in many fields, and says that there is no bias, or the default codebook.
func (b *Buffer) Pointer() unsafe.Pointer {
	if b.closed {
		panic("ckitchen: Buffer.Pointer: the buffer is closed")
	}
	return b.pointer
}

// Size in bytes.
func (b *Buffer) Size() int {
	return b.size
}

func (b *Buffer) copy(host []byte, toDevice bool, what string) error {
	if b.closed {
		return &Error{ErrorInvalidArgument, fmt.Sprintf("Buffer.%s: the buffer is closed", what)}
	}
	if len(host) > b.size {
		return &Error{ErrorInvalidArgument, fmt.Sprintf("Buffer.%s: %d bytes, the buffer has %d", what, len(host), b.size)}
	}
	if len(host) == 0 {
		return nil
	}
	return b.context.call(func(context *C.ck_context) C.ck_status {
		if toDevice {
			return C.ck_copy(context, b.pointer, unsafe.Pointer(&host[0]), C.uint64_t(len(host)), C.CK_COPY_HOST_TO_DEVICE, nil)
		}
		return C.ck_copy(context, unsafe.Pointer(&host[0]), b.pointer, C.uint64_t(len(host)), C.CK_COPY_DEVICE_TO_HOST, nil)
	})
}

// Write copies data to the start of the buffer.
func (b *Buffer) Write(data []byte) error {
	return b.copy(data, true, "Write")
}

// Read fills data from the start of the buffer, behind the work on the default stream.
func (b *Buffer) Read(data []byte) error {
	return b.copy(data, false, "Read")
}

// Element is what slices may be made of that Bytes views.
type Element interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Bytes views a slice's memory as bytes, for Write and Read.
func Bytes[T Element](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}
