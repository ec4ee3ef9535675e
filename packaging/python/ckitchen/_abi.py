"""The declarations of ckitchen.h. Written by packaging/generate.py from include/ckitchen.h; changes made here are lost."""

import ctypes

SONAME = "libckitchen.so.0"

CK_VERSION = 1000
CK_OK = 0
CK_ERROR_INVALID_ARGUMENT = 10
CK_ERROR_VERSION_MISMATCH = 11
CK_ERROR_UNSUPPORTED_PROBLEM = 12
CK_ERROR_WORKSPACE_TOO_SMALL = 13
CK_ERROR_INVALID_CONFIGURATION = 14
CK_ERROR_OP_DISABLED = 15
CK_ERROR_NO_RUNTIME = 30
CK_ERROR_NO_DEVICE = 31
CK_ERROR_UNSUPPORTED_ARCH = 32
CK_ERROR_OUT_OF_MEMORY = 50
CK_ERROR_DRIVER = 51
CK_ERROR_DEVICE_LOST = 52
CK_ERROR_NOT_PREPARED = 70
CK_ERROR_FORKED = 71
CK_ERROR_INTERNAL = 90
CK_DTYPE_NONE = 0
CK_F32 = 1
CK_F16 = 2
CK_BF16 = 3
CK_F8_E4M3 = 4
CK_I8 = 10
CK_I32 = 11
CK_LOG_OFF = 0
CK_LOG_ERROR = 1
CK_LOG_WARN = 2
CK_LOG_INFO = 3
CK_LOG_DISPATCH = 4
CK_LOG_DEBUG = 5
CK_LOG_TRACE = 6
CK_BACKEND_AUTO = 0
CK_BACKEND_CPU = 1
CK_BACKEND_HIP = 2
CK_BACKEND_CUDA = 3
CK_DEVICE_INTEGRATED = 1
CK_DEVICE_OVERRIDDEN = 2
CK_DEVICE_COMPILED = 4
CK_CONTEXT_ALLOW_CPU_FALLBACK = 1
CK_COPY_HOST_TO_DEVICE = 1
CK_COPY_DEVICE_TO_HOST = 2
CK_COPY_DEVICE_TO_DEVICE = 3
CK_OP_INT8_GEMM = 1
CK_OP_INT8_QUANTIZE = 2
CK_OP_INT8_LINEAR = 3
CK_OP_ROTATE = 4
CK_OP_W4A8_REQUANT = 5
CK_OP_W4A8_CHOOSE_CODEBOOK = 6
CK_OP_W4A8_DEQUANT = 7
CK_OP_W4A8_LINEAR = 8
CK_OP_NA3D = 9
CK_OP_INT8_ERROR = 10
CK_SCALE_VECTOR = 0
CK_SCALE_SCALAR = 1
CK_ACTIVATION_NONE = 0
CK_ACTIVATION_GELU_TANH = 1
CK_ACTIVATION_SWIGLU = 2
CK_W4A8_CODEBOOK = 0
CK_W4A8_UNIFORM = 1
CK_W4A8_ASYMMETRIC = 2
CK_NA3D_STRICT_WINDOW = 1
CK_NA3D_EXPLICIT_STRIDES = 2

LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)


class ck_device_properties(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("backend", ctypes.c_int32),
        ("ordinal", ctypes.c_int32),
        ("usable", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("compute_units", ctypes.c_int32),
        ("memory_bytes", ctypes.c_int64),
        ("shared_memory_bytes", ctypes.c_int64),
        ("name", ctypes.c_char * 128),
        ("arch", ctypes.c_char * 64),
        ("features", ctypes.c_char * 256),
        ("unusable_reason", ctypes.c_char * 256),
    ]


class ck_context_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("backend", ctypes.c_int32),
        ("ordinal", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("reserved0", ctypes.c_uint32),
        ("disable", ctypes.c_char_p),
        ("runtime_path", ctypes.c_char_p),
    ]


class ck_support_info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("status", ctypes.c_int32),
        ("variant", ctypes.c_char * 64),
        ("reason", ctypes.c_char * 256),
    ]


class ck_problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("op", ctypes.c_int32),
        ("args", ctypes.c_void_p),
    ]


class ck_variant_info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("op", ctypes.c_int32),
        ("calls", ctypes.c_uint64),
        ("name", ctypes.c_char * 64),
    ]


class ck_int8_gemm_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("out_dtype", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("a", ctypes.c_void_p),
        ("lda", ctypes.c_int64),
        ("b", ctypes.c_void_p),
        ("ldb", ctypes.c_int64),
        ("c", ctypes.c_void_p),
        ("ldc", ctypes.c_int64),
        ("scale_a", ctypes.c_void_p),
        ("scale_b", ctypes.c_void_p),
        ("scale_a_mode", ctypes.c_int32),
        ("scale_b_mode", ctypes.c_int32),
        ("bias", ctypes.c_void_p),
        ("bias_dtype", ctypes.c_int32),
        ("reserved0", ctypes.c_uint32),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_rotate_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("rows", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("ldx", ctypes.c_int64),
        ("y", ctypes.c_void_p),
        ("ldy", ctypes.c_int64),
        ("group", ctypes.c_int32),
        ("reserved0", ctypes.c_uint32),
    ]


class ck_int8_quantize_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("rows", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("ldx", ctypes.c_int64),
        ("q", ctypes.c_void_p),
        ("ldq", ctypes.c_int64),
        ("scale", ctypes.c_void_p),
        ("activation", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_int8_error_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("rows", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("ldx", ctypes.c_int64),
        ("q", ctypes.c_void_p),
        ("ldq", ctypes.c_int64),
        ("scale", ctypes.c_void_p),
        ("scale_mode", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("difference", ctypes.c_void_p),
        ("original", ctypes.c_void_p),
    ]


class ck_int8_linear_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("x_dtype", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("ldx", ctypes.c_int64),
        ("w", ctypes.c_void_p),
        ("ldw", ctypes.c_int64),
        ("w_scale", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("ldy", ctypes.c_int64),
        ("out_dtype", ctypes.c_int32),
        ("bias_dtype", ctypes.c_int32),
        ("w_scale_mode", ctypes.c_int32),
        ("activation", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("reserved0", ctypes.c_uint32),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_w4a8_requant_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("weight", ctypes.c_void_p),
        ("ldw", ctypes.c_int64),
        ("group", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("s_rel_dtype", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("row_offset", ctypes.c_uint64),
        ("codebook", ctypes.c_void_p),
        ("packed", ctypes.c_void_p),
        ("ld_packed", ctypes.c_int64),
        ("s_rel", ctypes.c_void_p),
        ("ld_s_rel", ctypes.c_int64),
        ("s_channel", ctypes.c_void_p),
        ("correction", ctypes.c_void_p),
        ("ld_correction", ctypes.c_int64),
        ("nonfinite", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_w4a8_choose_codebook_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("weight", ctypes.c_void_p),
        ("ldw", ctypes.c_int64),
        ("group", ctypes.c_int32),
        ("reserved0", ctypes.c_uint32),
        ("codebook", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_w4a8_dequant_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("out_dtype", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("group", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("s_rel_dtype", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("packed", ctypes.c_void_p),
        ("ld_packed", ctypes.c_int64),
        ("s_rel", ctypes.c_void_p),
        ("ld_s_rel", ctypes.c_int64),
        ("s_channel", ctypes.c_void_p),
        ("codebook", ctypes.c_void_p),
        ("correction", ctypes.c_void_p),
        ("ld_correction", ctypes.c_int64),
        ("correction_dtype", ctypes.c_int32),
        ("reserved0", ctypes.c_uint32),
        ("out", ctypes.c_void_p),
        ("ldo", ctypes.c_int64),
    ]


class ck_w4a8_linear_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("x_dtype", ctypes.c_int32),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("x", ctypes.c_void_p),
        ("ldx", ctypes.c_int64),
        ("packed", ctypes.c_void_p),
        ("ld_packed", ctypes.c_int64),
        ("s_rel", ctypes.c_void_p),
        ("ld_s_rel", ctypes.c_int64),
        ("s_channel", ctypes.c_void_p),
        ("codebook", ctypes.c_void_p),
        ("correction", ctypes.c_void_p),
        ("ld_correction", ctypes.c_int64),
        ("bias", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("ldy", ctypes.c_int64),
        ("group", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("s_rel_dtype", ctypes.c_int32),
        ("correction_dtype", ctypes.c_int32),
        ("out_dtype", ctypes.c_int32),
        ("bias_dtype", ctypes.c_int32),
        ("activation", ctypes.c_int32),
        ("rotate_group", ctypes.c_int32),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


class ck_na3d_args(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("batch", ctypes.c_int64),
        ("t", ctypes.c_int64),
        ("h", ctypes.c_int64),
        ("w", ctypes.c_int64),
        ("heads", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("q", ctypes.c_void_p),
        ("k", ctypes.c_void_p),
        ("v", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("q_stride", ctypes.c_int64 * 5),
        ("k_stride", ctypes.c_int64 * 5),
        ("v_stride", ctypes.c_int64 * 5),
        ("out_stride", ctypes.c_int64 * 5),
        ("kernel", ctypes.c_int32 * 3),
        ("dilation", ctypes.c_int32 * 3),
        ("causal", ctypes.c_int32 * 3),
        ("scale", ctypes.c_float),
        ("flags", ctypes.c_uint32),
        ("reserved0", ctypes.c_uint32),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_uint64),
    ]


STRUCTS = (ck_device_properties, ck_context_options, ck_support_info, ck_problem, ck_variant_info, ck_int8_gemm_args, ck_rotate_args, ck_int8_quantize_args, ck_int8_error_args, ck_int8_linear_args, ck_w4a8_requant_args, ck_w4a8_choose_codebook_args, ck_w4a8_dequant_args, ck_w4a8_linear_args, ck_na3d_args)

# name: result, parameters
FUNCTIONS = {
    "ck_version": (ctypes.c_uint32, ()),
    "ck_status_string": (ctypes.c_char_p, (ctypes.c_int32,)),
    "ck_last_error": (ctypes.c_char_p, ()),
    "ck_set_log_callback": (ctypes.c_int32, (LogCallback, ctypes.c_void_p, ctypes.c_int32,)),
    "ck_device_count": (ctypes.c_int32, (ctypes.c_int32, ctypes.POINTER(ctypes.c_int32),)),
    "ck_device_info": (ctypes.c_int32, (ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ck_device_properties),)),
    "ck_builtin_targets": (ctypes.c_char_p, ()),
    "ck_context_create": (ctypes.c_int32, (ctypes.POINTER(ck_context_options), ctypes.POINTER(ctypes.c_void_p),)),
    "ck_context_destroy": (None, (ctypes.c_void_p,)),
    "ck_context_info": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_device_properties),)),
    "ck_malloc": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p),)),
    "ck_free": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p,)),
    "ck_copy": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p,)),
    "ck_host_malloc": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p),)),
    "ck_host_free": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p,)),
    "ck_copy_async": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p,)),
    "ck_stream_create": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p),)),
    "ck_stream_destroy": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p,)),
    "ck_synchronize": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p,)),
    "ck_prepare": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_problem), ctypes.c_uint64,)),
    "ck_last_variant": (ctypes.c_char_p, ()),
    "ck_variant_count": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64),)),
    "ck_get_variant_info": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ck_variant_info),)),
    "ck_int8_gemm": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_gemm_args), ctypes.c_void_p,)),
    "ck_int8_gemm_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_gemm_args), ctypes.POINTER(ck_support_info),)),
    "ck_int8_gemm_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_gemm_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_rotate": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_rotate_args), ctypes.c_void_p,)),
    "ck_rotate_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_rotate_args), ctypes.POINTER(ck_support_info),)),
    "ck_rotate_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_rotate_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_int8_quantize": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_quantize_args), ctypes.c_void_p,)),
    "ck_int8_quantize_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_quantize_args), ctypes.POINTER(ck_support_info),)),
    "ck_int8_quantize_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_quantize_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_int8_error": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_error_args), ctypes.c_void_p,)),
    "ck_int8_error_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_error_args), ctypes.POINTER(ck_support_info),)),
    "ck_int8_error_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_error_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_int8_linear": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_linear_args), ctypes.c_void_p,)),
    "ck_int8_linear_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_linear_args), ctypes.POINTER(ck_support_info),)),
    "ck_int8_linear_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_int8_linear_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_w4a8_default_codebook": (ctypes.POINTER(ctypes.c_float), ()),
    "ck_w4a8_requant": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_requant_args), ctypes.c_void_p,)),
    "ck_w4a8_requant_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_requant_args), ctypes.POINTER(ck_support_info),)),
    "ck_w4a8_requant_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_requant_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_w4a8_choose_codebook": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_choose_codebook_args), ctypes.c_void_p,)),
    "ck_w4a8_choose_codebook_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_choose_codebook_args), ctypes.POINTER(ck_support_info),)),
    "ck_w4a8_choose_codebook_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_choose_codebook_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_w4a8_dequant": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_dequant_args), ctypes.c_void_p,)),
    "ck_w4a8_dequant_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_dequant_args), ctypes.POINTER(ck_support_info),)),
    "ck_w4a8_dequant_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_dequant_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_w4a8_linear": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_linear_args), ctypes.c_void_p,)),
    "ck_w4a8_linear_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_linear_args), ctypes.POINTER(ck_support_info),)),
    "ck_w4a8_linear_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_w4a8_linear_args), ctypes.POINTER(ctypes.c_uint64),)),
    "ck_na3d": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_na3d_args), ctypes.c_void_p,)),
    "ck_na3d_supported": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_na3d_args), ctypes.POINTER(ck_support_info),)),
    "ck_na3d_workspace_size": (ctypes.c_int32, (ctypes.c_void_p, ctypes.POINTER(ck_na3d_args), ctypes.POINTER(ctypes.c_uint64),)),
}

# name without ck_: number, args
OPERATORS = {
    "int8_gemm": (CK_OP_INT8_GEMM, ck_int8_gemm_args),
    "rotate": (CK_OP_ROTATE, ck_rotate_args),
    "int8_quantize": (CK_OP_INT8_QUANTIZE, ck_int8_quantize_args),
    "int8_error": (CK_OP_INT8_ERROR, ck_int8_error_args),
    "int8_linear": (CK_OP_INT8_LINEAR, ck_int8_linear_args),
    "w4a8_requant": (CK_OP_W4A8_REQUANT, ck_w4a8_requant_args),
    "w4a8_choose_codebook": (CK_OP_W4A8_CHOOSE_CODEBOOK, ck_w4a8_choose_codebook_args),
    "w4a8_dequant": (CK_OP_W4A8_DEQUANT, ck_w4a8_dequant_args),
    "w4a8_linear": (CK_OP_W4A8_LINEAR, ck_w4a8_linear_args),
    "na3d": (CK_OP_NA3D, ck_na3d_args),
}
