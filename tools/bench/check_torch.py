"""Checks that ck_int8_gemm lives beside PyTorch in one process on one CUDA or ROCm device: its context, streams, graphs and threads.

    check_torch.py --library build/release/src/libckitchen.so

Prints one line a check; exit status 0 only when all passed.
"""

import argparse
import ctypes
import threading

try:
    import torch
except ImportError:  # --help needs none
    torch = None

from compare_torch import CK_BF16, ContextOptions, GemmArgs

CK_ERROR_NOT_PREPARED = 70
CK_OP_INT8_GEMM = 1


class Problem(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("op", ctypes.c_int32), ("args", ctypes.c_void_p)]


class Product:
    """Operands of one GEMM, its args, and what PyTorch says of the result."""

    def __init__(self, m, n, k):
        self.a = torch.randint(-127, 128, (m, k), dtype=torch.int8, device="cuda")
        self.b = torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda")
        self.scale_a = torch.rand(m, device="cuda") * 1e-3
        self.scale_b = torch.rand(n, device="cuda") * 1e-3
        self.c = torch.zeros(m, n, dtype=torch.bfloat16, device="cuda")
        self.args = GemmArgs(ctypes.sizeof(GemmArgs), CK_BF16, m, n, k, self.a.data_ptr(), 0, self.b.data_ptr(), 0, self.c.data_ptr(), 0,
                             self.scale_a.data_ptr(), self.scale_b.data_ptr())
        torch.cuda.synchronize()

    def right(self):
        sums = torch._int_mm(self.a, self.b.t()).float()
        return torch.equal(self.c, ((sums * self.scale_a[:, None]) * self.scale_b[None, :]).bfloat16())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    options = parser.parse_args()
    if torch is None:
        parser.error("PyTorch is needed")
    ck = ctypes.CDLL(options.library)
    ck.ck_last_error.restype = ctypes.c_char_p
    failures = []

    def check(what, passed):
        print(f"{'ok    ' if passed else 'FAILED'} {what}")
        if not passed:
            failures.append(what)

    def context():
        made = ctypes.c_void_p()
        options = ContextOptions(ctypes.sizeof(ContextOptions), 2 if torch.version.hip else 3, 0)
        if ck.ck_context_create(ctypes.byref(options), ctypes.byref(made)) != 0:
            raise SystemExit(ck.ck_last_error().decode())
        return made

    def gemm(on, product, stream):
        return ck.ck_int8_gemm(on, ctypes.byref(product.args), ctypes.c_void_p(stream.cuda_stream))

    torch.cuda.init()
    driver = None if torch.version.hip else ctypes.CDLL("libcuda.so.1")

    def current():
        handle = ctypes.c_void_p()
        if driver is not None:
            driver.cuCtxGetCurrent(ctypes.byref(handle))
        return handle.value

    first = Product(256, 512, 256)
    before = current()
    one, two = context(), context()
    check("the thread's current context is the one before", current() == before)
    default = torch.cuda.current_stream()

    # A graph: refused while the kernel is not loaded, recorded afterwards, replayed on new data.
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        graph.capture_begin()
        refused = gemm(one, first, side)
        graph.capture_end()
    check("a problem that was not prepared is refused under capture", refused == CK_ERROR_NOT_PREPARED)
    problem = Problem(ctypes.sizeof(Problem), CK_OP_INT8_GEMM, ctypes.addressof(first.args))
    check("ck_prepare", ck.ck_prepare(one, ctypes.byref(problem), ctypes.c_uint64(1)) == 0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        graph.capture_begin()
        recorded = gemm(one, first, side)
        graph.capture_end()
    torch.cuda.synchronize()
    check("a prepared problem is recorded and does not run", recorded == 0 and not first.c.any().item())
    graph.replay()
    torch.cuda.synchronize()
    check("a graph's replay", first.right())
    first.a.copy_(torch.randint(-127, 128, first.a.shape, dtype=torch.int8, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    check("a graph's replay on other data", first.right())

    # Streams: the work waits for what PyTorch put into the same stream before it.
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        first.a.copy_(torch.randint(-127, 128, first.a.shape, dtype=torch.int8, device="cuda"))
        started = gemm(two, first, side)
    side.synchronize()
    check("work on a side stream comes after PyTorch's", started == 0 and first.right())

    # Threads, each with its stream, on two contexts of the device.
    def work(on, results):
        stream = torch.cuda.Stream()
        for number in range(20):
            product = Product(64 + 16 * (number % 5), 320, 128 * (1 + number % 3))
            status = gemm(on, product, stream)
            stream.synchronize()
            results.append(status == 0 and product.right())

    results = []
    threads = [threading.Thread(target=work, args=(on, results)) for on in (one, two, one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("four threads on two contexts", len(results) == 80 and all(results))

    ck.ck_context_destroy(one)
    ck.ck_context_destroy(two)
    check("PyTorch goes on after the contexts are gone", current() == before and torch.ones(4, device="cuda").sum().item() == 4)
    check("on the default stream nothing is left", default.query())
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
