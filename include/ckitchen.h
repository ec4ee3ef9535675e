/*
 * ckitchen.h - kernels for quantized diffusion and video models behind a C ABI.
 *
 * This header is the whole public interface and its specification. It is C99, includes only <stddef.h>
 * and <stdint.h>, and needs no GPU header: device pointers are plain pointers and streams are void*.
 *
 *   1  Conventions          5  Memory for small clients     9  INT8 linear
 *   2  Version, status      6  Queries, prepare, counters  10  W4A8
 *   3  Devices              7  INT8 GEMM                   11  Neighborhood attention
 *   4  Context              8  Row quantization, rotation
 *
 * ---------------------------------------------------------------------------------------------------
 * 1  Conventions (they hold for every function unless its own comment says otherwise)
 *
 * Building.     Against the shared library: `pkg-config --cflags --libs ckitchen`, or CMake's
 *               find_package(ckitchen) and ckitchen::ckitchen. Against the static one: CK_STATIC defined
 *               before this header, and behind libckitchen.a what `pkg-config --static --libs ckitchen` names
 *               (the C++ runtime, zstd, m, dl, pthread); ckitchen::ckitchen_static does both, for a program
 *               that is linked as C++. GPU runtimes are opened at run time either way, never linked.
 * Structs.      The first field is struct_size. CK_INIT(type) makes a value with struct_size set and every
 *               other byte 0; 0 is every field's default, and a field whose comment says "required" has no
 *               usable default. Reserved fields must be 0. Structs only ever grow at their end: the library
 *               reads a field only when struct_size covers it, and accepts a struct larger than the one it
 *               knows (up to 4096 bytes) when the unknown bytes are all 0. In structs that the library fills,
 *               the caller sets struct_size; what the library does not know is zeroed; arrays step by
 *               struct_size.
 * Checks.       Fields that a call does not use are checked like the others: a bias_dtype without a bias, a
 *               scale mode with CK_I32, a kernel size with a zero extent must be legal values (a dtype that
 *               nothing needs may be 0). Only pointers are asked for where they are used.
 * Matrices.     Row-major, the last dimension contiguous. A leading dimension ("ld...") is the distance
 *               between rows in elements; 0 means packed rows. The bytes between a row's end and the next
 *               row are never read and never written. Sizes and offsets are 64-bit: a tensor of more than
 *               2^31 elements is ordinary. An extent or leading dimension is at most 2^48, a tensor's bytes
 *               fit 63 bits. A zero extent is a success that writes nothing.
 * Memory.       Every data pointer, scalar scales, codebooks and counters included, is memory of the
 *               context's device (on the CPU backend: ordinary memory). The caller owns all of it, workspace
 *               included, and keeps it alive until the work on the stream has finished. No data pointer has
 *               an alignment requirement: elements may lie at any byte address. Aligned data is faster
 *               (16 bytes is enough for every kernel). Outputs must not overlap inputs, the workspace or
 *               each other, except where a function says so.
 * Workspace.    `workspace` and `workspace_size` (bytes) stand in the args of operators that may need one;
 *               <op>_workspace_size tells the bytes for the same args. NULL is allowed when that is 0.
 *               It may lie at any address. Contents need not be initialised and mean nothing afterwards.
 * Streams.      Work is enqueued on the caller's native stream (hipStream_t, CUstream) of the context's
 *               device; NULL is that device's default stream. The CPU backend computes before it returns and
 *               ignores the stream. Nothing blocks except ck_w4a8_choose_codebook, ck_copy, ck_free,
 *               ck_host_malloc, ck_host_free and ck_synchronize. The thread's current device is restored.
 * Capture.      On a stream that is being captured only operators may be called, and only for problems that
 *               ck_prepare has loaded; others answer CK_ERROR_NOT_PREPARED and leave the capture valid.
 *               Calls that take no stream (memory, ck_prepare) are not recorded and take effect at once.
 * Threads.      A context may be used from many threads at once. Different calls that write the same memory
 *               or share a workspace must be ordered by the caller.
 * Errors.       Every function returns a ck_status. A call that returns anything but CK_OK because of its
 *               arguments has written nothing. ck_last_error() is the calling thread's text for its most
 *               recent failure: which argument, its value, the limit. A success leaves it alone. Nothing
 *               aborts, prints, exits or throws.
 * Queries.      <op>_supported and <op>_workspace_size read the same args as the operator. Data pointers may
 *               be NULL in them; a NULL required pointer counts as 16-byte aligned, and an optional pointer
 *               (bias, correction, nonfinite...) counts as absent when NULL.
 * Numbers.      float32 steps are single IEEE operations rounded to nearest even: no contraction to FMA, no
 *               reassociation, subnormals kept; rne(x) is round half to even. Casts to float16/bfloat16 are
 *               rne, overflow gives infinity. Results marked "bit-exact" are the same bits on every backend
 *               and device.
 * Fork.         A GPU context does not survive fork(): in the child every call that needs the device returns
 *               CK_ERROR_FORKED; questions about the context or a problem are still answered. CPU contexts
 *               work in the child.
 */
#ifndef CKITCHEN_H
#define CKITCHEN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(CK_STATIC)
#define CK_API
#elif defined(_WIN32)
#if defined(CK_BUILDING)
#define CK_API __declspec(dllexport)
#else
#define CK_API __declspec(dllimport)
#endif
#else
#define CK_API __attribute__((visibility("default")))
#endif

/* --------------------------------------------------------------------------------------------------- */
/* 2  Version and status                                                                               */

#define CK_VERSION_MAJOR 0
#define CK_VERSION_MINOR 1
#define CK_VERSION_PATCH 0
/* One number that grows with every release: major * 1000000 + minor * 1000 + patch. */
#define CK_VERSION (CK_VERSION_MAJOR * 1000000 + CK_VERSION_MINOR * 1000 + CK_VERSION_PATCH)

/* CK_VERSION of the library that is loaded, which may differ from the header's. Never fails. Since 0.1. */
CK_API uint32_t ck_version(void);

/* Every function's result. Numbers are fixed; new codes may appear in the gaps: treat an unknown nonzero
 * value as a failure. */
typedef int32_t ck_status;
enum {
    CK_OK = 0,
    /* The call is wrong whatever the device: a NULL, an enum, a size, a stride, an overlap, a reserved field.
     */
    CK_ERROR_INVALID_ARGUMENT = 10,
    /* A struct_size below the first release's, or nonzero bytes beyond what this library knows. */
    CK_ERROR_VERSION_MISMATCH = 11,
    /* The arguments are legal but no enabled variant on this device takes the problem. */
    CK_ERROR_UNSUPPORTED_PROBLEM = 12,
    /* workspace is NULL or workspace_size is below <op>_workspace_size. */
    CK_ERROR_WORKSPACE_TOO_SMALL = 13,
    /* An environment variable or a context option has a value that is not understood. */
    CK_ERROR_INVALID_CONFIGURATION = 14,
    /* The operator, called directly, was switched off by CKITCHEN_DISABLE or ck_context_options.disable. */
    CK_ERROR_OP_DISABLED = 15,
    /* The backend's runtime library was not found or is too old. The text lists what was tried. */
    CK_ERROR_NO_RUNTIME = 30,
    /* The runtime is there and has no device, or the ordinal is out of range. */
    CK_ERROR_NO_DEVICE = 31,
    /* The device is of an architecture for which this library has no code. */
    CK_ERROR_UNSUPPORTED_ARCH = 32,
    CK_ERROR_OUT_OF_MEMORY = 50,
    /* The GPU driver or runtime refused a call; the text has its name, code and words. A device that has
     * disappeared shows as this too where the runtime says no more than "unknown error" (HIP: 999). */
    CK_ERROR_DRIVER = 51,
    /* The device has faulted or disappeared; the context cannot be used any more. */
    CK_ERROR_DEVICE_LOST = 52,
    /* Under stream capture: the problem was not given to ck_prepare, or the call may not be captured. */
    CK_ERROR_NOT_PREPARED = 70,
    /* The context's GPU was opened by a parent process. */
    CK_ERROR_FORKED = 71,
    /* A defect of the library. Please report it with ck_last_error(). */
    CK_ERROR_INTERNAL = 90
};

/* The name of a status, for example "CK_ERROR_NO_DEVICE"; "CK_ERROR_UNKNOWN" for a number this library does
 * not know. Static text, never NULL. Since 0.1. */
CK_API const char* ck_status_string(ck_status status);

/* The calling thread's text for its most recent failing call, one line, never NULL, "" before any failure.
 * Valid until the next failing call on the same thread. Since 0.1. */
CK_API const char* ck_last_error(void);

/* An initializer, all zero but struct_size: `ck_na3d_args args = CK_INIT(ck_na3d_args);` in C99 and C++11. In
 * C it stands only where a variable is defined; to assign one anew, write the compound literal `args =
 * (ck_na3d_args)CK_INIT(ck_na3d_args);`. In C++ it is an expression like others. */
#ifdef __cplusplus
#define CK_INIT(type) (::ckitchen_detail_init<type>())
#else
#define CK_INIT(type) \
    { .struct_size = (uint32_t)sizeof(type) }
#endif

/* Element types. 0 is no type: fields that are marked "required" refuse it. */
typedef int32_t ck_dtype;
enum {
    CK_DTYPE_NONE = 0,
    CK_F32 = 1,
    CK_F16 = 2,     /* IEEE binary16 */
    CK_BF16 = 3,    /* bfloat16: the upper half of a float32 */
    CK_F8_E4M3 = 4, /* OCP e4m3fn: bias 7, largest 448, no infinities, NaN is 0x7F; encoded rne, saturating */
    CK_I8 = 10,
    CK_I32 = 11
};

/* Log levels for ck_set_log_callback. */
enum {
    CK_LOG_OFF = 0,
    CK_LOG_ERROR = 1,
    CK_LOG_WARN = 2,
    CK_LOG_INFO = 3,
    CK_LOG_DISPATCH =
        4, /* one machine-readable line for each call that runs a variant: operator, problem, device,
              candidates, variant; a call with nothing to compute (a zero extent) has none */
    CK_LOG_DEBUG = 5,
    CK_LOG_TRACE = 6
};

/* Receives log lines (no newline, valid during the call only). May be called from any thread that calls the
 * library, one call at a time; must not call the library. */
typedef void (*ck_log_callback)(void* user, int32_t level, const char* message);

/* Sends log lines of `level` and more severe ones to `callback` instead of stderr. callback NULL: back to
 * stderr at the level of CKITCHEN_LOG (off by default). Process-wide; thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  level is not a CK_LOG_ value */
CK_API ck_status ck_set_log_callback(ck_log_callback callback, void* user, int32_t level);

/* --------------------------------------------------------------------------------------------------- */
/* 3  Devices                                                                                          */

typedef int32_t ck_backend;
enum {
    CK_BACKEND_AUTO =
        0, /* a usable GPU (HIP before CUDA, discrete before integrated); the CPU where no GPU is */
    CK_BACKEND_CPU = 1,
    CK_BACKEND_HIP = 2,
    CK_BACKEND_CUDA = 3
};

/* ck_device_properties.flags */
enum {
    CK_DEVICE_INTEGRATED = 1u << 0, /* shares its memory with the host */
    CK_DEVICE_OVERRIDDEN = 1u << 1, /* HSA_OVERRIDE_GFX_VERSION is in force: arch may not be the chip's own */
    CK_DEVICE_COMPILED = 1u << 2 /* no code for it is built in: the HIP runtime's compiler makes an operator's
                                    on first use or in ck_prepare, which takes seconds */
};

/* Filled by ck_device_info and ck_context_info. Texts end with NUL. */
typedef struct ck_device_properties {
    uint32_t struct_size;
    ck_backend backend;          /* CK_BACKEND_CPU, _HIP or _CUDA */
    int32_t ordinal;             /* as the runtime numbers it; 0 on the CPU */
    ck_status usable;            /* CK_OK, or why a context cannot be made on it */
    uint32_t flags;              /* CK_DEVICE_ bits */
    int32_t compute_units;       /* CUs, SMs, or hardware threads available to this process on the CPU */
    int64_t memory_bytes;        /* total memory of the device */
    int64_t shared_memory_bytes; /* LDS a workgroup may use; 0 on the CPU */
    char name[128];              /* marketing name */
    char arch[64];               /* "gfx1201", "sm_90", or the CPU's ISA level, for example "x86-64-v3" */
    char features[256];          /* what kernels may use, space-separated, for example "dot4 wmma_gfx12" */
    char unusable_reason[256];   /* "" when usable */
} ck_device_properties;

/* Number of devices of a backend, unusable ones included. CK_BACKEND_AUTO counts all GPUs and the CPU. The
 * first call for a GPU backend opens its runtime; a failure is not remembered. A backend without a runtime
 * or without a driver has 0 devices, which is a success: ck_last_error() is not changed and
 * ck_context_create says the reason. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  backend unknown, count NULL */
CK_API ck_status ck_device_count(ck_backend backend, int32_t* count);

/* Describes device `ordinal` of a backend (for CK_BACKEND_AUTO: of HIP's, then CUDA's, then the CPU).
 * info->struct_size is set by the caller. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  backend unknown, info NULL, ordinal negative
 *   CK_ERROR_NO_DEVICE         ordinal >= ck_device_count */
CK_API ck_status ck_device_info(ck_backend backend, int32_t ordinal, ck_device_properties* info);

/* The GPU targets whose code is built into this library, space-separated, in arch.json's order; "" when
 * none. Static text. Since 0.1. */
CK_API const char* ck_builtin_targets(void);

/* --------------------------------------------------------------------------------------------------- */
/* 4  Context                                                                                          */

/* One device of one backend. Immutable after creation. Opaque. */
typedef struct ck_context ck_context;

/* ck_context_options.flags */
enum {
    /* With CK_BACKEND_AUTO: take the CPU when GPUs are present and none is usable (otherwise an error). */
    CK_CONTEXT_ALLOW_CPU_FALLBACK = 1u << 0
};

typedef struct ck_context_options {
    uint32_t struct_size;
    ck_backend backend;       /* CKITCHEN_BACKEND replaces CK_BACKEND_AUTO */
    int32_t ordinal;          /* device number of the backend; must be 0 with CK_BACKEND_AUTO */
    int32_t threads;          /* CPU backend: threads, 0 = all that this process may use; at most 1024 */
    uint32_t flags;           /* CK_CONTEXT_ bits */
    uint32_t reserved0;       /* must be 0 */
    const char* disable;      /* operators to switch off, comma-separated names without "ck_"; NULL = none.
                                 Direct calls are refused; a linear goes on using what it is made of */
    const char* runtime_path; /* GPU runtime library to open; NULL = CKITCHEN_HIP_LIBRARY or
                                 CKITCHEN_CUDA_LIBRARY, else the copy already in the process, else a list of
                                 known names. A process opens one library of a kind: once it is open, a path
                                 must name it. With CK_BACKEND_AUTO only the devices of that library count */
} ck_context_options;

/* Makes a context. options NULL means all defaults. The texts are copied. On success *context is owned by the
 * caller until ck_context_destroy; on failure it is set to NULL. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT       context NULL, an option out of range, another runtime_path than is open
 *   CK_ERROR_INVALID_CONFIGURATION  an environment variable or `disable` names something unknown
 *   CK_ERROR_NO_RUNTIME, _NO_DEVICE, _UNSUPPORTED_ARCH  with the reason in ck_last_error()
 *   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST */
CK_API ck_status ck_context_create(const ck_context_options* options, ck_context** context);

/* Destroys a context. No call on it may be in progress. Work that is enqueued goes on; what code it needs
 * stays loaded. NULL is allowed. Since 0.1. */
CK_API void ck_context_destroy(ck_context* context);

/* Describes the context's device. info->struct_size is set by the caller. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context or info NULL */
CK_API ck_status ck_context_info(const ck_context* context, ck_device_properties* info);

/* --------------------------------------------------------------------------------------------------- */
/* 5  Memory for small clients (operators work as well on memory that comes from elsewhere)            */

/* Allocates `bytes` of the context's device memory, 256-byte aligned. 0 bytes gives NULL. Thread-safe.
 * Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context or pointer NULL
 *   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED */
CK_API ck_status ck_malloc(ck_context* context, uint64_t bytes, void** pointer);

/* Frees memory from ck_malloc of the same context. NULL is allowed. May wait for the device. Thread-safe.
 * Since 0.1. */
CK_API ck_status ck_free(ck_context* context, void* pointer);

typedef int32_t ck_copy_kind;
enum { CK_COPY_HOST_TO_DEVICE = 1, CK_COPY_DEVICE_TO_HOST = 2, CK_COPY_DEVICE_TO_DEVICE = 3 };

/* Copies bytes in stream order and returns when the copy is complete. The ranges must not overlap. Not under
 * capture. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context NULL, kind unknown, a NULL pointer with bytes > 0, overlap */
CK_API ck_status ck_copy(ck_context* context, void* destination, const void* source, uint64_t bytes,
                         ck_copy_kind kind, void* stream);

/* Allocates `bytes` of host memory that copies need not stage (page-locked, for every device of the backend;
 * on the CPU backend ordinary memory), 256-byte aligned. 0 bytes gives NULL. Costs milliseconds: allocate
 * once and keep it. It is taken from the machine as a whole, so keep it small. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context or pointer NULL
 *   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED */
CK_API ck_status ck_host_malloc(ck_context* context, uint64_t bytes, void** pointer);

/* Frees memory from ck_host_malloc of the same context, no copy of which may be on its way. NULL is allowed.
 * May wait for the device. Thread-safe. Since 0.1. */
CK_API ck_status ck_host_free(ck_context* context, void* pointer);

/* Enqueues a copy on the stream and returns. The ranges must not overlap, and both stay valid, the source
 * unchanged, until the stream has passed the copy (ck_synchronize). Only copies from and to memory of
 * ck_host_malloc, or other page-locked memory, run beside the work of other streams and of the host; with
 * other host memory the call may take as long as the copy. The CPU backend copies before it returns. Not
 * under capture. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context NULL, kind unknown, a NULL pointer with bytes > 0, overlap */
CK_API ck_status ck_copy_async(ck_context* context, void* destination, const void* source, uint64_t bytes,
                               ck_copy_kind kind, void* stream);

/* Makes a native stream of the context's device (hipStream_t, CUstream) that neither waits for the default
 * stream nor makes it wait; on the CPU backend *stream is NULL, which every function takes. Work on different
 * streams may overlap. *stream is owned by the caller until ck_stream_destroy. Thread-safe.
 * Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context or stream NULL
 *   CK_ERROR_OUT_OF_MEMORY, CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED */
CK_API ck_status ck_stream_create(ck_context* context, void** stream);

/* Destroys a stream from ck_stream_create of the same context; work on it must be finished. NULL is allowed.
 * Thread-safe. Since 0.1. */
CK_API ck_status ck_stream_destroy(ck_context* context, void* stream);

/* Waits until the work on the stream is finished and reports faults of it. Not under capture. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context NULL
 *   CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_FORKED */
CK_API ck_status ck_synchronize(ck_context* context, void* stream);

/* --------------------------------------------------------------------------------------------------- */
/* 6  Queries, prepare, counters                                                                       */

typedef int32_t ck_op;
enum {
    CK_OP_INT8_GEMM = 1,            /* args: ck_int8_gemm_args */
    CK_OP_INT8_QUANTIZE = 2,        /* args: ck_int8_quantize_args */
    CK_OP_INT8_LINEAR = 3,          /* args: ck_int8_linear_args */
    CK_OP_ROTATE = 4,               /* args: ck_rotate_args */
    CK_OP_W4A8_REQUANT = 5,         /* args: ck_w4a8_requant_args */
    CK_OP_W4A8_CHOOSE_CODEBOOK = 6, /* args: ck_w4a8_choose_codebook_args */
    CK_OP_W4A8_DEQUANT = 7,         /* args: ck_w4a8_dequant_args */
    CK_OP_W4A8_LINEAR = 8,          /* args: ck_w4a8_linear_args */
    CK_OP_NA3D = 9,                 /* args: ck_na3d_args */
    CK_OP_INT8_ERROR = 10           /* args: ck_int8_error_args */
};

/* Filled by <op>_supported. The function's own result says only whether the question could be answered. */
typedef struct ck_support_info {
    uint32_t struct_size;
    ck_status status; /* what the operator would return before it launches anything */
    char variant[64]; /* the variant that would run, "" when none */
    char reason[256]; /* why not, "" when status is CK_OK */
} ck_support_info;

/* One entry of ck_prepare's list. */
typedef struct ck_problem {
    uint32_t struct_size;
    ck_op op;
    const void* args; /* the operator's args struct; data pointers may be NULL, as in <op>_supported */
} ck_problem;

/* Loads everything that the listed problems would load lazily (code objects, kernels), so that calls for
 * problems of the same shapes, dtypes and alignment only launch, also under capture. `problems` steps by the
 * first entry's struct_size. Thread-safe. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context NULL, problems NULL with count > 0, an op unknown
 *   the first failing problem's status otherwise; the text names its index */
CK_API ck_status ck_prepare(ck_context* context, const ck_problem* problems, uint64_t count);

/* The variant that the calling thread's last successful operator call ran, "" before any. Static text.
 * Since 0.1. */
CK_API const char* ck_last_variant(void);

/* One line of the context's table of variants. */
typedef struct ck_variant_info {
    uint32_t struct_size;
    ck_op op;
    uint64_t calls; /* successful operator calls through this context that ran it */
    char name[64];
} ck_variant_info;

/* Number of variants that the context's device could run. Since 0.1.
 *   CK_ERROR_INVALID_ARGUMENT  context or count NULL */
CK_API ck_status ck_variant_count(const ck_context* context, uint64_t* count);

/* Describes variant `index` < ck_variant_count. info->struct_size is set by the caller. Thread-safe. Since
 * 0.1. CK_ERROR_INVALID_ARGUMENT  context or info NULL, index out of range */
CK_API ck_status ck_get_variant_info(const ck_context* context, uint64_t index, ck_variant_info* info);

/* Statuses that every operator below may return, besides those that its comment names:
 *   CK_ERROR_INVALID_ARGUMENT  context or args NULL; a required pointer NULL; an enum, size or stride out of
 *                              range; a reserved field not 0; an output that overlaps something
 *   CK_ERROR_VERSION_MISMATCH, CK_ERROR_UNSUPPORTED_PROBLEM, CK_ERROR_OP_DISABLED, CK_ERROR_OUT_OF_MEMORY,
 *   CK_ERROR_DRIVER, CK_ERROR_DEVICE_LOST, CK_ERROR_NOT_PREPARED, CK_ERROR_FORKED, CK_ERROR_INTERNAL */

/* --------------------------------------------------------------------------------------------------- */
/* 7  INT8 GEMM                                                                                        */

/* How a scale is given. */
typedef int32_t ck_scale_mode;
enum {
    CK_SCALE_VECTOR = 0, /* one float32 per row of A, or per row of B (that is: per column of C) */
    CK_SCALE_SCALAR = 1  /* one float32 in all, still device memory */
};

/* C[M,N] = epilogue(A[M,K] * B[N,K]^T), bit-exact:
 *
 *   acc = sum over k of A[i,k] * B[j,k]     exact, int32
 *   v   = float32(acc)                      rne
 *   v   = (v * scale_a[i]) * scale_b[j]     two rounded products, in this order
 *   v   = v + float32(bias[j])              only with a bias
 *   C   = cast(v)                           or C = acc when out_dtype is CK_I32: no scale, no bias
 *
 * Without a bias nothing is added, so acc == 0 with a negative scale gives -0.0. K == 0 is legal: acc is 0.
 * A NaN or infinite scale propagates. */
typedef struct ck_int8_gemm_args {
    uint32_t struct_size;
    ck_dtype out_dtype;         /* required: CK_F32, CK_F16, CK_BF16 or CK_I32 */
    int64_t m, n, k;            /* >= 0; k <= 131071, the most that int32 accumulation guarantees */
    const void* a;              /* int8 [m, lda]; required unless m, n or k is 0 */
    int64_t lda;                /* >= k */
    const void* b;              /* int8 [n, ldb]; required unless m, n or k is 0 */
    int64_t ldb;                /* >= k */
    void* c;                    /* out_dtype [m, ldc]; required unless m or n is 0 */
    int64_t ldc;                /* >= n */
    const float* scale_a;       /* [m] or one; required unless out_dtype is CK_I32 */
    const float* scale_b;       /* [n] or one; required unless out_dtype is CK_I32 */
    ck_scale_mode scale_a_mode; /* CK_SCALE_ */
    ck_scale_mode scale_b_mode;
    const void* bias;    /* bias_dtype [n]; NULL = none */
    ck_dtype bias_dtype; /* CK_F32, CK_F16 or CK_BF16; required with a bias, may be 0 without */
    uint32_t reserved0;  /* must be 0 */
    void* workspace;
    uint64_t workspace_size;
} ck_int8_gemm_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_int8_gemm(ck_context* context, const ck_int8_gemm_args* args, void* stream);
CK_API ck_status ck_int8_gemm_supported(ck_context* context, const ck_int8_gemm_args* args,
                                        ck_support_info* info);
CK_API ck_status ck_int8_gemm_workspace_size(ck_context* context, const ck_int8_gemm_args* args,
                                             uint64_t* bytes);

/* --------------------------------------------------------------------------------------------------- */
/* 8  Row quantization and ConvRot rotation                                                            */

/* Activation applied first, in float32, elementwise. exp32 is the library's own exponential, so that every
 * backend has the same bits; constants are the nearest float32, every operation is rounded:
 *
 *   x > 88: infinity;  x < -87: 0;  NaN: NaN;  else
 *   n = rne(x * 1.44269504);   r = (x - n * 0.693359375) - n * -2.12194440e-4
 *   p = 1.9875691500e-4;   then p = p * r + c with each c of 1.3981999507e-3, 8.3334519073e-3,
 *                          4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1;   p = (p * (r * r) + r) + 1
 *   exp32(x) = p * 2^n
 *
 * gelu_tanh of minus infinity is NaN by these steps and quantizes to 0. */
typedef int32_t ck_activation;
enum {
    CK_ACTIVATION_NONE = 0,
    CK_ACTIVATION_GELU_TANH =
        1, /* (0.5*x) * (1 + (1 - 2/(exp32(2*y) + 1))), y = 0.7978845608*(x + 0.044715*((x*x)*x)) */
    CK_ACTIVATION_SWIGLU =
        2 /* an input row is [gate | up], 2k wide; (gate / (1 + exp32(-gate))) * up, k wide */
};

/* Rotates each contiguous block of `group` columns by the regular Hadamard matrix
 * kron(H4,...,H4)/sqrt(group), H4 = [[1,1,1,-1],[1,1,-1,1],[1,-1,1,1],[-1,1,1,1]]: symmetric and its own
 * inverse, so the same call un-rotates. Bit-exact, in float32: stages of stride s = 1, 4, 16, ... below
 * group; in each, for every i with (i div s) mod 4 == 0, the values a, b, c, e at i, i+s, i+2s, i+3s become
 *
 *   ((a+b)+c)-e    ((a+b)-c)+e    ((a-b)+c)+e    ((b-a)+c)+e
 *
 * then one product with 1/sqrt(group), a power of two; then one rounding to dtype. y may be x itself (same
 * pointer and leading dimension). */
typedef struct ck_rotate_args {
    uint32_t struct_size;
    ck_dtype dtype;     /* required: CK_F32, CK_F16 or CK_BF16; of x and y */
    int64_t rows, k;    /* >= 0 */
    const void* x;      /* [rows, ldx]; required unless rows or k is 0 */
    int64_t ldx;        /* >= k */
    void* y;            /* [rows, ldy]; required unless rows or k is 0 */
    int64_t ldy;        /* >= k */
    int32_t group;      /* required: 4, 16, 64, 256 or 1024; divides k */
    uint32_t reserved0; /* must be 0 */
} ck_rotate_args;

/* Since 0.1. */
CK_API ck_status ck_rotate(ck_context* context, const ck_rotate_args* args, void* stream);
CK_API ck_status ck_rotate_supported(ck_context* context, const ck_rotate_args* args, ck_support_info* info);
CK_API ck_status ck_rotate_workspace_size(ck_context* context, const ck_rotate_args* args, uint64_t* bytes);

/* Symmetric int8 quantization of rows, with an optional activation and rotation in front, bit-exact:
 *
 *   amax  = max |x| over the row's finite x (0 when there is none)     scale = max(amax / 127, 1e-30)
 *   q     = clamp(rne(x / scale), -128, 127); +inf -> 127, -inf -> -128, NaN -> 0
 *
 * The order is activation (float32), rotation, quantization. With a rotation the quantizer reads values
 * rounded to dtype (the rotation's result); with an activation and no rotation it reads the float32 result.
 * An all-zero row and k == 0 give the scale 1e-30. */
typedef struct ck_int8_quantize_args {
    uint32_t struct_size;
    ck_dtype dtype;           /* required: CK_F32, CK_F16 or CK_BF16; of x */
    int64_t rows, k;          /* >= 0; k is the width of q: x is 2k wide with CK_ACTIVATION_SWIGLU */
    const void* x;            /* dtype [rows, ldx]; required unless rows or k is 0 */
    int64_t ldx;              /* >= k, or >= 2k with CK_ACTIVATION_SWIGLU */
    void* q;                  /* int8 [rows, ldq]; required unless rows or k is 0 */
    int64_t ldq;              /* >= k */
    float* scale;             /* [rows]; required unless rows is 0 */
    ck_activation activation; /* CK_ACTIVATION_ */
    int32_t rotate_group;     /* 0 = none, or 4, 16, 64, 256, 1024; divides k */
    void* workspace;
    uint64_t workspace_size;
} ck_int8_quantize_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_int8_quantize(ck_context* context, const ck_int8_quantize_args* args, void* stream);
CK_API ck_status ck_int8_quantize_supported(ck_context* context, const ck_int8_quantize_args* args,
                                            ck_support_info* info);
CK_API ck_status ck_int8_quantize_workspace_size(ck_context* context, const ck_int8_quantize_args* args,
                                                 uint64_t* bytes);

/* How far int8 rows are from the floats that they stand for: two sums over every row, bit-exact.
 *
 *   v = float32(q) * scale, then rotated in float32 (which undoes a rotation);  d = v - float32(x)
 *   difference = sum of d * d;  original = sum of float32(x)^2    the squares are exact in float64
 *
 * sqrt(sum of difference / sum of original) over all rows is the relative error of the tensor. The grid that
 * ck_w4a8_dequant gives as CK_I8 with s_channel as its scale is a W4A8 weight (without a correction).
 *
 * The float64 sums have one order. halve(v) adds the second half of v to its first, element by element, until
 * one is left. With columns beyond k as 0:
 *   p_i = halve(16 columns from 16*i on);  c_j = halve(p_i for the 64 i from 64*j on)
 *   a_l = c_l + c_(l+8) + c_(l+16) ..., from left to right, for l = 0 to 7;  sum = halve(a_0 to a_7)
 *
 * k == 0 gives sums of 0; a NaN or an infinity propagates. */
typedef struct ck_int8_error_args {
    uint32_t struct_size;
    ck_dtype dtype;           /* required: CK_F32, CK_F16 or CK_BF16; of x */
    int64_t rows, k;          /* >= 0 */
    const void* x;            /* the original: dtype [rows, ldx]; required unless rows or k is 0 */
    int64_t ldx;              /* >= k */
    const void* q;            /* int8 [rows, ldq]; required unless rows or k is 0 */
    int64_t ldq;              /* >= k */
    const float* scale;       /* [rows] or one; required unless rows or k is 0 */
    ck_scale_mode scale_mode; /* CK_SCALE_ */
    int32_t rotate_group;     /* 0 = none, or 4, 16, 64, 256, 1024; divides k */
    double* difference;       /* [rows]; required unless rows is 0 */
    double* original;         /* [rows]; required unless rows is 0 */
} ck_int8_error_args;

/* Since 0.1. */
CK_API ck_status ck_int8_error(ck_context* context, const ck_int8_error_args* args, void* stream);
CK_API ck_status ck_int8_error_supported(ck_context* context, const ck_int8_error_args* args,
                                         ck_support_info* info);
CK_API ck_status ck_int8_error_workspace_size(ck_context* context, const ck_int8_error_args* args,
                                              uint64_t* bytes);

/* --------------------------------------------------------------------------------------------------- */
/* 9  INT8 linear                                                                                      */

/* y[M,N] = INT8 GEMM of the quantized x and w: ck_int8_quantize (activation, rotation) then ck_int8_gemm with
 * the row scales as scale_a, bit-exact. w is a weight that was rotated with the same group, rounded to its
 * dtype and row-quantized without an activation; w_scale are its scales. */
typedef struct ck_int8_linear_args {
    uint32_t struct_size;
    ck_dtype x_dtype;           /* required: CK_F32, CK_F16 or CK_BF16 */
    int64_t m, n, k;            /* >= 0; k <= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU */
    const void* x;              /* x_dtype [m, ldx]; required unless m, n or k is 0 */
    int64_t ldx;                /* >= k, or >= 2k with CK_ACTIVATION_SWIGLU */
    const void* w;              /* int8 [n, ldw]; required unless m, n or k is 0 */
    int64_t ldw;                /* >= k */
    const float* w_scale;       /* [n] or one; required unless m or n is 0 */
    const void* bias;           /* bias_dtype [n]; NULL = none */
    void* y;                    /* out_dtype [m, ldy]; required unless m or n is 0 */
    int64_t ldy;                /* >= n */
    ck_dtype out_dtype;         /* required: CK_F32, CK_F16 or CK_BF16 */
    ck_dtype bias_dtype;        /* CK_F32, CK_F16 or CK_BF16; required with a bias */
    ck_scale_mode w_scale_mode; /* CK_SCALE_ */
    ck_activation activation;   /* CK_ACTIVATION_ */
    int32_t rotate_group;       /* 0 = none, or 4, 16, 64, 256, 1024; divides k */
    uint32_t reserved0;         /* must be 0 */
    void* workspace;
    uint64_t workspace_size;
} ck_int8_linear_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_int8_linear(ck_context* context, const ck_int8_linear_args* args, void* stream);
CK_API ck_status ck_int8_linear_supported(ck_context* context, const ck_int8_linear_args* args,
                                          ck_support_info* info);
CK_API ck_status ck_int8_linear_workspace_size(ck_context* context, const ck_int8_linear_args* args,
                                               uint64_t* bytes);

/* --------------------------------------------------------------------------------------------------- */
/* 10  W4A8: 4-bit weights with group scales on an int8 grid, int8 activations                         */

/* A quantized weight [N,K] is: packed int8 [N, K/2], codes 0..15, the even column in the low nibble; s_rel
 * [N, K/g], a scale for each group of g columns, e4m3 or float32; s_channel float32 [N]; and, by layout:
 *   CODEBOOK    16 ascending float32 levels shared by the tensor:  level(code) = codebook[code]
 *   UNIFORM     level(code) = code - 8
 *   ASYMMETRIC  level(code) = code - 8, and a correction [K/g, N] (note the order) in the weight's dtype
 * Its int8 grid is  g8 = clamp(rne(level(code) * float32(s_rel)), -127, 127), its float value
 * float32(g8) * s_channel, then + float32(correction), each step rounded. A NaN s_rel gives g8 = 0. A
 * codebook is not checked: levels that do not ascend give unspecified codes. */
typedef int32_t ck_w4a8_layout;
enum { CK_W4A8_CODEBOOK = 0, CK_W4A8_UNIFORM = 1, CK_W4A8_ASYMMETRIC = 2 };

/* The 16 levels used where a codebook pointer is NULL: Lloyd-Max levels of a group-normalized Gaussian. Host
 * memory, static. Since 0.1. */
CK_API const float* ck_w4a8_default_codebook(void);

/* Quantizes a float weight [N,K]. Bit-exact. |w| < 2^100. A non-finite element counts as 0 and is counted;
 * what a rotation overflows to infinity counts as 0 too, uncounted.
 *
 *   nearest(x, L)  pos = number of L[j] < x; lo = clamp(pos-1, 0, 15); hi = clamp(pos, 0, 15); hi if
 *                  |x - L[hi]| < |x - L[lo]|, else lo (so a tie takes the lower; equal levels are legal)
 *   treesum        in pairs inside each 16 columns: (((p0+p1)+(p2+p3))+((p4+p5)+(p6+p7))) + the same of p8
 *                  to p15; or inside the whole group when g is 4 or 8. Then from left to right
 *
 * CODEBOOK c:   gs = max(max|w|, 1e-8);  code_i = nearest(w_i / gs, c)
 *               twice: num = treesum(w_i * c[code_i]);  den = treesum(c[code_i] * c[code_i])
 *                      gs = max(num / max(den, 1e-8), 1e-8);  code_i = nearest(w_i / gs, c)
 *               s_channel = max(max over the row |c[code_i] * gs| / 127, 1e-8);  s_rel = cast(gs / s_channel)
 *               L_j = clamp(rne(c_j * float32(s_rel)), -127, 127);  code_i = nearest(w_i / s_channel, L)
 * UNIFORM:      gs = max(max|w| / 7, 1e-8);            code = clamp(round(w / gs), -8, 7) + 8
 * ASYMMETRIC:   gs = max((max w - min w) / 15, 1e-8);  code = clamp(round((w - min) / gs), 0, 15)
 *               correction = cast(8 * gs + min)
 *   both:       s_channel = max(max over the row |(code - 8) * gs| / 127, 1e-8)
 *               s_rel = cast(gs / s_channel)
 *
 * Without a seed round(t) is rne(t). Stochastic rounding (seed != 0) draws u in [0,1) from the seed and the
 * element's place in the whole tensor alone, so the result depends neither on the backend nor on how the rows
 * are cut into calls. In uint32 arithmetic, lo32 and hi32 being the halves of a uint64:
 *
 *   h = lo32((row_offset + row) * k + col) ^ lo32(seed) ^ hi32(seed)
 *   h = h * 747796405 + 2891336453;   h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737;   h = (h >> 22) ^ h
 *   u = (h >> 8) * 2^-24
 *
 * CODEBOOK:     scales as without a seed;  x = w_i / s_channel;  lo = clamp(pos-1, 0, 14), pos as in nearest
 *               code_i = lo + 1 if x > u * (L[lo+1] - L[lo]) + L[lo], else lo
 * the others:   round(t) = floor(t + u) */
typedef struct ck_w4a8_requant_args {
    uint32_t struct_size;
    ck_dtype dtype;        /* required: CK_F32, CK_F16 or CK_BF16; of weight and correction */
    int64_t n, k;          /* >= 0 */
    const void* weight;    /* dtype [n, ldw]; required unless n or k is 0 */
    int64_t ldw;           /* >= k */
    int32_t group;         /* required: 4, 8, or a multiple of 16; divides k */
    ck_w4a8_layout layout; /* CK_W4A8_ */
    int32_t rotate_group; /* 0: weight is already rotated (or needs no rotation); 4, 16, 64, 256, 1024: rotate
                             it first, rounded to dtype; divides k */
    ck_dtype s_rel_dtype; /* 0 or CK_F8_E4M3, or CK_F32 */
    uint64_t seed;        /* 0: round to nearest; else the seed of stochastic rounding */
    uint64_t row_offset;  /* place of the first given row in the whole tensor; matters only with a seed */
    const float* codebook; /* [16] ascending (equal levels are legal); NULL = the default; CODEBOOK only */
    void* packed;          /* int8 [n, ld_packed]; required unless n or k is 0 */
    int64_t ld_packed;     /* in bytes, >= k/2 */
    void* s_rel;           /* s_rel_dtype [n, ld_s_rel]; required unless n or k is 0 */
    int64_t ld_s_rel;      /* >= k/group */
    float* s_channel;      /* [n]; required unless n or k is 0 */
    void* correction;      /* dtype [k/group, ld_correction]; required for ASYMMETRIC, NULL otherwise */
    int64_t ld_correction; /* >= n */
    uint64_t* nonfinite;   /* the number of non-finite elements is added to it; NULL = not wanted */
    void* workspace;
    uint64_t workspace_size;
} ck_w4a8_requant_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_w4a8_requant(ck_context* context, const ck_w4a8_requant_args* args, void* stream);
CK_API ck_status ck_w4a8_requant_supported(ck_context* context, const ck_w4a8_requant_args* args,
                                           ck_support_info* info);
CK_API ck_status ck_w4a8_requant_workspace_size(ck_context* context, const ck_w4a8_requant_args* args,
                                                uint64_t* bytes);

/* Chooses the 16 levels for a (rotated) weight. R = min(n, max(1, 4194304 div k)) rows are read, row i being
 * floor(i*n/R); values are divided by their group's max(max|w|, 1e-8) over its finite elements, in float32;
 * non-finite ones are left out; the rest is float64. Excess kurtosis <= -0.1, zero variance or nothing
 * finite: the default codebook. Otherwise 16 levels from the quantiles j/15 by 25 passes of nearest
 * assignment and cell means (an empty cell keeps its level), rounded to float32. Deterministic. Backends
 * agree to 1e-6 relative.
 *
 * Blocks until the codebook is written; refused under capture. */
typedef struct ck_w4a8_choose_codebook_args {
    uint32_t struct_size;
    ck_dtype dtype;     /* required: CK_F32, CK_F16 or CK_BF16; of weight */
    int64_t n, k;       /* >= 0; with a zero extent the default codebook is written */
    const void* weight; /* dtype [n, ldw]; required unless n or k is 0 */
    int64_t ldw;        /* >= k */
    int32_t group;      /* required: 4, 8, or a multiple of 16; divides k */
    uint32_t reserved0; /* must be 0 */
    float* codebook;    /* [16], written; required */
    void* workspace;
    uint64_t workspace_size;
} ck_w4a8_choose_codebook_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_w4a8_choose_codebook(ck_context* context, const ck_w4a8_choose_codebook_args* args,
                                         void* stream);
CK_API ck_status ck_w4a8_choose_codebook_supported(ck_context* context,
                                                   const ck_w4a8_choose_codebook_args* args,
                                                   ck_support_info* info);
CK_API ck_status ck_w4a8_choose_codebook_workspace_size(ck_context* context,
                                                        const ck_w4a8_choose_codebook_args* args,
                                                        uint64_t* bytes);

/* Decodes a quantized weight to its int8 grid (out_dtype CK_I8) or to floats, bit-exact. The float result is
 * un-rotated in float32 when rotate_group is given, and cast once at the end. */
typedef struct ck_w4a8_dequant_args {
    uint32_t struct_size;
    ck_dtype out_dtype;        /* required: CK_I8 (the grid), CK_F32, CK_F16 or CK_BF16 */
    int64_t n, k;              /* >= 0 */
    int32_t group;             /* required: 4, 8, or a multiple of 16; divides k */
    ck_w4a8_layout layout;     /* CK_W4A8_ */
    ck_dtype s_rel_dtype;      /* 0 or CK_F8_E4M3, or CK_F32 */
    int32_t rotate_group;      /* 0 = leave as it is, or the group to un-rotate with; must be 0 for CK_I8 */
    const void* packed;        /* int8 [n, ld_packed]; required unless n or k is 0 */
    int64_t ld_packed;         /* in bytes, >= k/2 */
    const void* s_rel;         /* [n, ld_s_rel]; required unless n or k is 0 */
    int64_t ld_s_rel;          /* >= k/group */
    const float* s_channel;    /* [n]; required for floats unless n or k is 0 */
    const float* codebook;     /* [16]; NULL = the default; CODEBOOK only */
    const void* correction;    /* correction_dtype [k/group, ld_correction]; required for ASYMMETRIC floats */
    int64_t ld_correction;     /* >= n */
    ck_dtype correction_dtype; /* CK_F32, CK_F16 or CK_BF16; required with a correction */
    uint32_t reserved0;        /* must be 0 */
    void* out;                 /* out_dtype [n, ldo]; required unless n or k is 0 */
    int64_t ldo;               /* >= k */
} ck_w4a8_dequant_args;

/* Since 0.1. */
CK_API ck_status ck_w4a8_dequant(ck_context* context, const ck_w4a8_dequant_args* args, void* stream);
CK_API ck_status ck_w4a8_dequant_supported(ck_context* context, const ck_w4a8_dequant_args* args,
                                           ck_support_info* info);
CK_API ck_status ck_w4a8_dequant_workspace_size(ck_context* context, const ck_w4a8_dequant_args* args,
                                                uint64_t* bytes);

/* y[M,N] = x * W^T with a W4A8 weight, bit-exact: x is quantized as in ck_int8_quantize (activation,
 * rotation), then ck_int8_gemm's steps with the decoded int8 grid as B and s_channel as scale_b. With a
 * correction, v = v + (float32(sum of the group's q) * scale_a[i]) * float32(correction[grp,j]), for grp
 * ascending, comes before the bias. */
typedef struct ck_w4a8_linear_args {
    uint32_t struct_size;
    ck_dtype x_dtype;          /* required: CK_F32, CK_F16 or CK_BF16 */
    int64_t m, n, k;           /* >= 0; k <= 131071; x is 2k wide with CK_ACTIVATION_SWIGLU */
    const void* x;             /* x_dtype [m, ldx]; required unless m, n or k is 0 */
    int64_t ldx;               /* >= k, or >= 2k with CK_ACTIVATION_SWIGLU */
    const void* packed;        /* int8 [n, ld_packed]; required unless m, n or k is 0 */
    int64_t ld_packed;         /* in bytes, >= k/2 */
    const void* s_rel;         /* [n, ld_s_rel]; required unless m, n or k is 0 */
    int64_t ld_s_rel;          /* >= k/group */
    const float* s_channel;    /* [n]; required unless m or n is 0 */
    const float* codebook;     /* [16]; NULL = the default; CODEBOOK only */
    const void* correction;    /* correction_dtype [k/group, ld_correction]; required for ASYMMETRIC */
    int64_t ld_correction;     /* >= n */
    const void* bias;          /* bias_dtype [n]; NULL = none */
    void* y;                   /* out_dtype [m, ldy]; required unless m or n is 0 */
    int64_t ldy;               /* >= n */
    int32_t group;             /* required: 4, 8, or a multiple of 16; divides k */
    ck_w4a8_layout layout;     /* CK_W4A8_ */
    ck_dtype s_rel_dtype;      /* 0 or CK_F8_E4M3, or CK_F32 */
    ck_dtype correction_dtype; /* CK_F32, CK_F16 or CK_BF16; required with a correction */
    ck_dtype out_dtype;        /* required: CK_F32, CK_F16 or CK_BF16 */
    ck_dtype bias_dtype;       /* CK_F32, CK_F16 or CK_BF16; required with a bias */
    ck_activation activation;  /* CK_ACTIVATION_ */
    int32_t rotate_group;      /* 0 = none, or 4, 16, 64, 256, 1024; divides k */
    void* workspace;
    uint64_t workspace_size;
} ck_w4a8_linear_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_w4a8_linear(ck_context* context, const ck_w4a8_linear_args* args, void* stream);
CK_API ck_status ck_w4a8_linear_supported(ck_context* context, const ck_w4a8_linear_args* args,
                                          ck_support_info* info);
CK_API ck_status ck_w4a8_linear_workspace_size(ck_context* context, const ck_w4a8_linear_args* args,
                                               uint64_t* bytes);

/* --------------------------------------------------------------------------------------------------- */
/* 11  Neighborhood attention                                                                          */

/* ck_na3d_args.flags */
enum {
    /* Refuse a window that does not fit its axis (kernel * dilation > length of a non-causal axis) instead of
     * clamping the kernel to the axis. */
    CK_NA3D_STRICT_WINDOW = 1u << 0,
    /* Take the strides as they are even when all five of a tensor are 0 (a tensor broadcast over every axis).
     */
    CK_NA3D_EXPLICIT_STRIDES = 1u << 1
};

/* out = softmax(scale * q.k) . v over a window on each of three axes; a 2-D problem has t = 1, a 1-D one t =
 * h = 1. Index i of an axis of length L with dilation d lies in the residue class i mod d, whose length is
 * Ld; m = i div d is its place there:
 *
 *   not causal:  kk = min(kernel, Ld);  lo = min(max(m - kk div 2, 0), Ld - kk);  the window is [lo, lo + kk)
 *   causal:      [max(0, m - kernel + 1), m + 1)
 *
 * mapped back by i mod d + d*j. A query attends the product of its three windows.
 *
 * Not bit-exact; logits, softmax and accumulation are float32, probabilities may be rounded to the 16-bit
 * input type. Against the float64 result, with X the largest |scale| * sum over d of |q_d * k_d| of any query
 * and a key of its window: the relative L2 error over the tensor is at most 4e-3 (bf16), 6e-4 (f16), 2e-6
 * (f32), each plus 2^-23 * X; where the result's norm is 0 the output is 0; each element is within 2e-2,
 * 3e-3, 2e-5, each plus 2^-22 * X, times the largest |v|. A subnormal result may be off by half its dtype's
 * smallest step besides. Logits of any size stay finite. Non-finite inputs give any values, but no fault. */
typedef struct ck_na3d_args {
    uint32_t struct_size;
    ck_dtype dtype;         /* required: CK_F32, CK_F16 or CK_BF16; of all four tensors */
    int64_t batch, t, h, w; /* >= 0 */
    int64_t heads;          /* >= 0 */
    int64_t head_dim;       /* a multiple of 8, 8 to 256 (or 0) */
    const void* q;          /* [batch, t, h, w, heads, head_dim], strided; required unless an extent is 0 */
    const void* k;          /* likewise */
    const void* v;          /* likewise */
    void* out;              /* likewise */
    int64_t q_stride[5]; /* in elements, of batch, t, h, w, heads; the head_dim axis is contiguous. All five 0
                            = the packed tensor. Negative and, for inputs, 0 are legal; the stride of an axis
                            of extent 1 is not read. Elements of `out` must not overlap each other */
    int64_t k_stride[5];
    int64_t v_stride[5];
    int64_t out_stride[5];
    int32_t kernel[3];   /* required, with a zero extent too: >= 1, of t, h, w; even sizes are legal */
    int32_t dilation[3]; /* >= 1; 0 = 1 */
    int32_t causal[3];   /* 0 or 1 */
    float scale;         /* 0 = head_dim^-0.5; must be finite, may be negative */
    uint32_t flags;      /* CK_NA3D_ bits */
    uint32_t reserved0;  /* must be 0 */
    void* workspace;
    uint64_t workspace_size;
} ck_na3d_args;

/* Since 0.1. CK_ERROR_WORKSPACE_TOO_SMALL besides the common statuses. */
CK_API ck_status ck_na3d(ck_context* context, const ck_na3d_args* args, void* stream);
CK_API ck_status ck_na3d_supported(ck_context* context, const ck_na3d_args* args, ck_support_info* info);
CK_API ck_status ck_na3d_workspace_size(ck_context* context, const ck_na3d_args* args, uint64_t* bytes);

#ifdef __cplusplus
} /* extern "C" */

template <typename T>
static inline T ckitchen_detail_init() {
    T value = T();
    value.struct_size = static_cast<uint32_t>(sizeof(T));
    return value;
}
#endif

#endif /* CKITCHEN_H */
