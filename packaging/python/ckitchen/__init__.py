"""libckitchen for Python, by ctypes: contexts, device memory, errors, and an operator a method. Needs no other package.

    >>> import array, ckitchen
    >>> with ckitchen.Context("cpu") as context:
    ...     x = context.upload(array.array("f", [1, -2, 0.5, 0]))  # anything with the buffer protocol, such as numpy's arrays
    ...     q, scale = context.alloc(4), context.alloc(4)
    ...     context.int8_quantize(dtype=ckitchen.CK_F32, rows=1, k=4, x=x, q=q, scale=scale)
    ...     memoryview(q.read()).cast("b").tolist()
    [64, -127, 32, 0]

Operators have the header's names without ck_, their keywords are the fields of the operator's args struct; ckitchen.h is the
manual for every field, status and operator. A pointer field takes a Buffer, an address of the context's device as an int (such as
torch's data_ptr()), or None; an array field takes a sequence. The caller keeps memory alive until the work on the stream is done.

The library is opened on first use, by its SONAME; load() opens another. It must have every function that this package knows.
"""

import ctypes
import math
import operator
import threading
import weakref

from . import _abi
from ._abi import *  # noqa: F403  the header's constants and structs

_BACKENDS = {"auto": _abi.CK_BACKEND_AUTO, "cpu": _abi.CK_BACKEND_CPU, "hip": _abi.CK_BACKEND_HIP, "cuda": _abi.CK_BACKEND_CUDA}

_library = None
_lock = threading.Lock()


def load(path=None):
    """Opens the library at `path` (by its SONAME when None) and returns it; once it is open, no other can be."""
    global _library
    with _lock:
        if _library is None:
            library = ctypes.CDLL(path or _abi.SONAME)
            for name, (result, parameters) in _abi.FUNCTIONS.items():
                function = getattr(library, name, None)
                if function is None:
                    raise ImportError(f"load: {path or _abi.SONAME} has no {name}: it is older than this package, or another library")
                function.restype, function.argtypes = result, parameters
            library.ckitchen_path = path
            _library = library
        elif path is not None and path != _library.ckitchen_path:
            raise ValueError(f"load: the library is open already, as {_library.ckitchen_path or _abi.SONAME}")
        return _library


class Error(Exception):
    """A call that failed: `status` is its number, `name` the number's name, the text says which argument, its value, the limit."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.name = load().ck_status_string(status).decode()


def _check(status):
    if status != _abi.CK_OK:
        raise Error(status, load().ck_last_error().decode(errors="replace"))


def version():
    """The version of the library that is loaded: major * 1000000 + minor * 1000 + patch."""
    return load().ck_version()


def builtin_targets():
    """The GPU targets whose code is built into the library."""
    return load().ck_builtin_targets().decode().split()


def last_variant():
    """The variant that this thread's last successful operator call ran, "" before any."""
    return load().ck_last_variant().decode()


def default_codebook():
    """The 16 levels used where a codebook pointer is None."""
    return load().ck_w4a8_default_codebook()[:16]


def _stamped(kind):
    value = kind()
    value.struct_size = ctypes.sizeof(kind)
    return value


def _as_dict(struct):
    """A struct that the library filled, by field; texts as str."""
    values = {name: getattr(struct, name) for name, _ in struct._fields_ if name != "struct_size"}
    return {name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in values.items()}


def _fit(kind, value, what):
    """`value` as it is; an integer that ctypes would cut to the size of `kind` is an error, a float that it would make infinite too."""
    if kind in (ctypes.c_float, ctypes.c_double):
        if math.isinf(kind(value).value) and not math.isinf(value):
            raise OverflowError(f"{what} is {value}, which does not fit its type")
        return value
    try:
        number = operator.index(value)
    except TypeError:  # None, or what ctypes says about it
        return value
    if (kind(number).value or 0) != number:
        raise OverflowError(f"{what} is {number}, which does not fit its type")
    return number


def _stream(stream):
    return _fit(ctypes.c_void_p, stream, "stream")


def _backend(backend):
    if backend not in _BACKENDS:
        raise ValueError(f"backend is {backend!r}, must be one of {', '.join(_BACKENDS)}")
    return _BACKENDS[backend]


def devices(backend="auto"):
    """All devices of a backend, unusable ones included, a dict of ck_device_properties each."""
    count = ctypes.c_int32()
    _check(load().ck_device_count(_backend(backend), ctypes.byref(count)))
    found = []
    for ordinal in range(count.value):
        info = _stamped(_abi.ck_device_properties)
        _check(load().ck_device_info(_backend(backend), ordinal, ctypes.byref(info)))
        found.append(_as_dict(info))
    return found


class Buffer:
    """Memory of a context's device, freed when it or its context is closed or forgotten. Work that uses it must be finished by then."""

    def __init__(self, context, size):
        self._pointer, self.closed = None, True
        self.context, self.size = context, _fit(ctypes.c_uint64, size, "size")
        pointer = ctypes.c_void_p()
        _check(load().ck_malloc(context._handle, self.size, ctypes.byref(pointer)))
        self._pointer, self.closed = pointer.value, False
        context._buffers.add(self)

    @property
    def pointer(self):
        """The address on the context's device, None for no bytes. Of a closed buffer it is an error: None is a valid argument."""
        if self.closed:
            raise ValueError("pointer: the buffer is closed")
        return self._pointer

    def close(self):
        pointer, self._pointer, self.closed = self._pointer, None, True
        if pointer is not None:
            _check(load().ck_free(self.context._handle, pointer))

    def __del__(self):
        try:
            self.close()
        except (Error, TypeError):  # nobody to tell; at exit names may be gone
            pass

    def write(self, data):
        """Copies `data`, contiguous and with the buffer protocol, to the start of the buffer."""
        pointer, view = self.pointer, memoryview(data)
        if view.nbytes > self.size:
            raise ValueError(f"write: {view.nbytes} bytes, the buffer has {self.size}")
        if not view.c_contiguous:
            raise ValueError("write: data is not contiguous")
        if view.nbytes:
            # ctypes takes the address of writable memory only.
            source = (ctypes.c_char * view.nbytes).from_buffer(view if not view.readonly else bytearray(view.cast("B")))
            _check(load().ck_copy(self.context._handle, pointer, ctypes.addressof(source), view.nbytes,
                                  _abi.CK_COPY_HOST_TO_DEVICE, None))

    def read(self):
        """The contents as a bytearray, behind the work on the default stream."""
        pointer, data = self.pointer, bytearray(self.size)
        if self.size:
            target = (ctypes.c_char * self.size).from_buffer(data)
            _check(load().ck_copy(self.context._handle, ctypes.addressof(target), pointer, self.size,
                                  _abi.CK_COPY_DEVICE_TO_HOST, None))
        return data


class Context:
    """One device of one backend, usable from many threads at once. Closed by `with`, by close(), or when it is forgotten.

    backend       "auto", "cpu", "hip" or "cuda"
    the others    fields of ck_context_options; disable is text, or names in a sequence
    """

    def __init__(self, backend="auto", *, ordinal=0, threads=0, flags=0, disable=None, runtime_path=None):
        self._handle = None
        self._buffers = weakref.WeakSet()
        options = _stamped(_abi.ck_context_options)
        options.backend = _backend(backend)
        options.ordinal, options.threads = _fit(ctypes.c_int32, ordinal, "ordinal"), _fit(ctypes.c_int32, threads, "threads")
        options.flags = _fit(ctypes.c_uint32, flags, "flags")
        if disable is not None:
            options.disable = (disable if isinstance(disable, str) else ",".join(disable)).encode()
        if runtime_path is not None:
            options.runtime_path = str(runtime_path).encode()
        handle = ctypes.c_void_p()
        _check(load().ck_context_create(ctypes.byref(options), ctypes.byref(handle)))
        self._handle = handle

    def close(self):
        for buffer in list(self._buffers):
            buffer.close()
        handle, self._handle = self._handle, None
        if handle:
            load().ck_context_destroy(handle)

    def __del__(self):
        try:
            self.close()
        except TypeError:  # at exit names may be gone
            pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def info(self):
        """ck_device_properties as a dict."""
        info = _stamped(_abi.ck_device_properties)
        _check(load().ck_context_info(self._handle, ctypes.byref(info)))
        return _as_dict(info)

    def alloc(self, size):
        """A Buffer of `size` bytes, not initialised."""
        return Buffer(self, size)

    def upload(self, data):
        """A Buffer with a copy of `data`."""
        buffer = Buffer(self, memoryview(data).nbytes)
        buffer.write(data)
        return buffer

    def stream(self):
        """A native stream's address that neither waits for the default stream nor makes it wait; None on the CPU backend."""
        stream = ctypes.c_void_p()
        _check(load().ck_stream_create(self._handle, ctypes.byref(stream)))
        return stream.value

    def destroy_stream(self, stream):
        _check(load().ck_stream_destroy(self._handle, _stream(stream)))

    def synchronize(self, stream=None):
        """Waits until the work on the stream is finished and reports faults of it."""
        _check(load().ck_synchronize(self._handle, _stream(stream)))

    def supported(self, operator, **fields):
        """ck_support_info as a dict: whether and by which variant the operator would run, or why not."""
        info = _stamped(_abi.ck_support_info)
        _check(getattr(load(), f"ck_{operator}_supported")(self._handle, ctypes.byref(_args(operator, fields)), ctypes.byref(info)))
        return _as_dict(info)

    def workspace_size(self, operator, **fields):
        """The bytes of workspace that the operator needs."""
        size = ctypes.c_uint64()
        _check(getattr(load(), f"ck_{operator}_workspace_size")(self._handle, ctypes.byref(_args(operator, fields)), ctypes.byref(size)))
        return size.value

    def prepare(self, operator, **fields):
        """Loads what the operator would load on its first call, so that a call under capture only launches."""
        args = _args(operator, fields)
        problem = _stamped(_abi.ck_problem)
        problem.op, problem.args = _abi.OPERATORS[operator][0], ctypes.addressof(args)
        _check(load().ck_prepare(self._handle, ctypes.byref(problem), 1))

    def variants(self):
        """The variants that the device could run and how often each has run, a dict of ck_variant_info each."""
        count = ctypes.c_uint64()
        _check(load().ck_variant_count(self._handle, ctypes.byref(count)))
        found = []
        for index in range(count.value):
            info = _stamped(_abi.ck_variant_info)
            _check(load().ck_get_variant_info(self._handle, index, ctypes.byref(info)))
            found.append(_as_dict(info))
        return found


def _args(operator, fields):
    if operator not in _abi.OPERATORS:
        raise ValueError(f"no operator is called {operator!r}")
    kind = _abi.OPERATORS[operator][1]
    types = dict(kind._fields_)
    args = _stamped(kind)
    for name, value in fields.items():
        if name not in types or name == "struct_size":
            raise TypeError(f"{operator} has no field {name}")
        if isinstance(value, Buffer):
            if types[name] is not ctypes.c_void_p:
                raise TypeError(f"{operator}: {name} is a Buffer, must be a number")
            if value.closed:
                raise ValueError(f"{operator}: {name} is a closed Buffer")
            value = value.pointer
        elif issubclass(types[name], ctypes.Array):
            if len(value) != types[name]._length_:
                raise ValueError(f"{operator}: {name} has {len(value)} elements, must have {types[name]._length_}")
            value = types[name](*(_fit(types[name]._type_, element, f"{operator}: an element of {name}") for element in value))
        else:
            value = _fit(types[name], value, f"{operator}: {name}")
        setattr(args, name, value)
    return args


def _method(operator):
    def method(self, stream=None, **fields):
        _check(getattr(load(), f"ck_{operator}")(self._handle, ctypes.byref(_args(operator, fields)), _stream(stream)))

    method.__name__ = operator
    method.__qualname__ = f"Context.{operator}"
    method.__doc__ = f"ck_{operator}, enqueued on the stream (None: the default stream); keywords are the fields of ck_{operator}_args."
    return method


for _operator in _abi.OPERATORS:
    setattr(Context, _operator, _method(_operator))
