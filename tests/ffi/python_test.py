"""The Python package by itself: what it refuses before the library would see it."""

import array
import ctypes
import sys

import ckitchen
from ckitchen import _abi

HUGE = 2**32


def fails(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), (text, str(error))
    else:
        raise AssertionError(f"no {kind.__name__}: {text}")


def library_without_functions():
    fails(ImportError, "libc.so.6 has no ck_version: it is older than this package, or another library", lambda: ckitchen.load("libc.so.6"))


def integers_that_do_not_fit(context):
    x, y = context.upload(array.array("f", range(64))), context.alloc(256)
    rotate = dict(dtype=ckitchen.CK_F32, rows=1, k=64, x=x, y=y, group=16)
    context.rotate(**rotate)
    for field, value in (("group", HUGE + 16), ("rows", 2**64 + 1), ("x", 2**64), ("x", -1)):
        fails(OverflowError, f"rotate: {field} is {value}", lambda: context.rotate(**{**rotate, field: value}))
    attention = dict(dtype=ckitchen.CK_F32, batch=1, t=1, h=1, w=1, heads=1, head_dim=8, q=x, k=x, v=x, out=y)
    context.na3d(**attention, kernel=[1, 1, 1])
    fails(OverflowError, f"na3d: an element of kernel is {HUGE + 1}", lambda: context.na3d(**attention, kernel=[1, 1, HUGE + 1]))
    fails(OverflowError, "na3d: an element of q_stride is", lambda: context.na3d(**attention, kernel=[1] * 3, q_stride=[2**64] * 5))
    for option, value in (("ordinal", HUGE), ("threads", HUGE + 1), ("flags", HUGE), ("flags", -1)):
        fails(OverflowError, f"{option} is {value}", lambda: ckitchen.Context("cpu", **{option: value}))
    for size in (2**64 + 8, -1):
        fails(OverflowError, f"size is {size}", lambda: context.alloc(size))
    for call in (context.synchronize, context.destroy_stream, lambda stream: context.rotate(stream, **rotate)):
        fails(OverflowError, "stream is", lambda: call(2**64))

    class Index:  # as numpy's integers are
        def __init__(self, value):
            self.value = value

        def __index__(self):
            return self.value

    context.rotate(**{**rotate, "group": Index(16)})
    fails(OverflowError, "rotate: group is", lambda: context.rotate(**{**rotate, "group": Index(HUGE + 16)}))
    fails(TypeError, "", lambda: context.rotate(**{**rotate, "group": 16.0}))


def every_field_of_every_operator(context):
    closed = [context.alloc(0), context.alloc(16)]
    for buffer in closed:
        buffer.close()
    opened = context.alloc(16)
    for operator, (_, args) in _abi.OPERATORS.items():
        for name, kind in args._fields_:
            if name == "struct_size":
                continue
            length = kind._length_ if issubclass(kind, ctypes.Array) else None
            number = kind._type_ if length else kind
            if number is ctypes.c_void_p:
                for buffer in closed:
                    for ask in (context.supported, context.workspace_size, context.prepare):
                        fails(ValueError, f"{operator}: {name} is a closed Buffer", lambda: ask(operator, **{name: buffer}))
            else:
                fails(TypeError, f"{operator}: {name} is a Buffer", lambda: context.supported(operator, **{name: opened}))
            if number is ctypes.c_float:
                values = 1e39, -1e300, 10**39
            else:
                bits = 8 * ctypes.sizeof(number)
                signed = number in (ctypes.c_int32, ctypes.c_int64)
                values = 2**bits, 2**bits + 1, 1 - 2**bits, 2 ** (bits - 1) if signed else -1
            for value in values:
                for at in range(length or 1):
                    given = [value if i == at else 0 for i in range(length)] if length else value
                    fails(OverflowError, name, lambda: context.supported(operator, **{name: given}))
    for value in (3e38, 1, float("inf"), float("nan")):
        context.supported("na3d", scale=value)


def closed_buffers(context):
    a, one, c = context.upload(bytes([1] * 16)), context.upload(array.array("f", [1])), context.alloc(4)
    bias, empty = context.upload(array.array("f", [100])), context.alloc(0)
    gemm = dict(out_dtype=ckitchen.CK_F32, m=1, n=1, k=16, a=a, b=a, c=c, scale_a=one, scale_b=one, bias=bias,
                bias_dtype=ckitchen.CK_F32, workspace=empty)
    context.int8_gemm(**gemm)
    assert memoryview(c.read()).cast("f")[0] == 116
    for field in ("bias", "workspace"):
        gemm[field].close()
        assert gemm[field].closed and not c.closed
        fails(ValueError, f"int8_gemm: {field} is a closed Buffer", lambda: context.int8_gemm(**gemm))
        gemm[field] = None
    for closed in (bias, empty):
        for use in (lambda: closed.pointer, closed.read, lambda: closed.write(b"")):
            fails(ValueError, "pointer: the buffer is closed", use)
    other = ckitchen.Context("cpu")
    left = other.alloc(4)
    other.close()
    fails(ValueError, "int8_gemm: bias is a closed Buffer", lambda: context.int8_gemm(**{**gemm, "bias": left}))


def main():
    library_without_functions()
    with ckitchen.Context("cpu") as context:
        integers_that_do_not_fit(context)
        every_field_of_every_operator(context)
        closed_buffers(context)


sys.exit(main())
