"""Times ck_int8_gemm beside torch._int_mm in one process on one CUDA or ROCm device.

    compare_torch.py --library build/release/src/libckitchen.so [--shape 12544x9216x3072 ...] [--rounds 30] [--flush] [--shift 1]

For each shape (MxNxK): the median of events around single calls, taken in turn, inputs random. Between calls nothing is flushed (warm
L2 where the operands fit) unless --flush is given, which reads 512 MiB before each. ckitchen writes bfloat16 with scales and bias,
torch._int_mm bare int32. The floor is the larger of the operations over --tops and the bytes (operands read once, output written once)
over --bandwidth; their defaults are an H200's. Also the host's cost of a call: wall time of many calls that are only enqueued, divided
by their number, beside the cheapest launch that PyTorch offers.
"""

import argparse
import ctypes
import statistics
import time

try:
    import torch
except ImportError:  # --help needs none
    torch = None

CK_BF16 = 3
CK_F32 = 1


class GemmArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("out_dtype", ctypes.c_int32), ("m", ctypes.c_int64), ("n", ctypes.c_int64),
                ("k", ctypes.c_int64), ("a", ctypes.c_void_p), ("lda", ctypes.c_int64), ("b", ctypes.c_void_p),
                ("ldb", ctypes.c_int64), ("c", ctypes.c_void_p), ("ldc", ctypes.c_int64), ("scale_a", ctypes.c_void_p),
                ("scale_b", ctypes.c_void_p), ("scale_a_mode", ctypes.c_int32), ("scale_b_mode", ctypes.c_int32),
                ("bias", ctypes.c_void_p), ("bias_dtype", ctypes.c_int32), ("reserved0", ctypes.c_uint32),
                ("workspace", ctypes.c_void_p), ("workspace_size", ctypes.c_uint64)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("backend", ctypes.c_int32), ("ordinal", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("flags", ctypes.c_uint32), ("reserved0", ctypes.c_uint32),
                ("disable", ctypes.c_char_p), ("runtime_path", ctypes.c_char_p)]


def event_time(call, before):
    before()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def host_time(call, count=2000):
    call()
    torch.cuda.synchronize()
    best = None
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        passed = (time.perf_counter() - start) / count
        torch.cuda.synchronize()
        best = passed if best is None else min(best, passed)
    return best * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--shape", action="append", help="MxNxK, may be repeated")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--shift", type=int, default=0, help="bytes by which A and B miss their alignment")
    parser.add_argument("--flush", action="store_true", help="fill the L2 cache with other data before each call")
    parser.add_argument("--tops", type=float, default=1979.0, help="dense INT8 rate of the device in TOPS")
    parser.add_argument("--bandwidth", type=float, default=4.1, help="memory bandwidth of the device in TB/s")
    options = parser.parse_args()
    if torch is None:
        parser.error("PyTorch is needed")
    shapes = options.shape or ["12544x9216x3072", "12544x3072x8192", "30000x21504x5376", "4096x4096x4096", "16x28672x5376"]

    ck = ctypes.CDLL(options.library)
    ck.ck_last_error.restype = ck.ck_last_variant.restype = ctypes.c_char_p
    context = ctypes.c_void_p()
    torch.cuda.init()
    chosen = ContextOptions(ctypes.sizeof(ContextOptions), 2 if torch.version.hip else 3, torch.cuda.current_device())
    if ck.ck_context_create(ctypes.byref(chosen), ctypes.byref(context)) != 0:
        raise SystemExit(ck.ck_last_error().decode())
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}; {'L2 flushed' if options.flush else 'warm'}")
    # Reading leaves nothing in the cache that would have to be written back while a call runs.
    scratch = torch.zeros((512 << 20) // 4 if options.flush else 0, device="cuda")
    flush = scratch.sum if options.flush else lambda: None

    for shape in shapes:
        m, n, k = (int(x) for x in shape.split("x"))
        a, b = (torch.randint(-127, 128, (rows * k + options.shift,), dtype=torch.int8, device="cuda")[options.shift:].view(rows, k)
                for rows in (m, n))
        scale_a = torch.rand(m, device="cuda") * 1e-3
        scale_b = torch.rand(n, device="cuda") * 1e-3
        bias = torch.randn(n, device="cuda").bfloat16()
        c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        args = GemmArgs(ctypes.sizeof(GemmArgs), CK_BF16, m, n, k, a.data_ptr(), 0, b.data_ptr(), 0, c.data_ptr(), 0,
                        scale_a.data_ptr(), scale_b.data_ptr(), 0, 0, bias.data_ptr(), CK_BF16)
        needed = ctypes.c_uint64()
        if ck.ck_int8_gemm_workspace_size(context, ctypes.byref(args), ctypes.byref(needed)) != 0:
            raise SystemExit(ck.ck_last_error().decode())
        workspace = torch.empty(needed.value, dtype=torch.uint8, device="cuda")
        args.workspace, args.workspace_size = workspace.data_ptr(), needed.value
        # torch._int_mm takes no fewer rows, multiples of 8 and aligned operands: padded copies serve to compare the others' results.
        takes = m > 16 and n % 8 == 0 and k % 8 == 0 and options.shift % 16 == 0

        def ours():
            if ck.ck_int8_gemm(context, ctypes.byref(args), stream) != 0:
                raise SystemExit(ck.ck_last_error().decode())

        def theirs():
            return torch._int_mm(a, b.t())

        calls = {"ckitchen": ours}
        if takes:
            calls["torch._int_mm"] = theirs
        ours()
        variant = ck.ck_last_variant().decode()
        # The epilogue's three roundings done by PyTorch on torch._int_mm's sums: the same bits.
        whole = [torch.nn.functional.pad(x, (0, -k % 8, 0, max(32, len(x) + -len(x) % 8) - len(x))) for x in (a, b)]
        sums = torch._int_mm(whole[0], whole[1].t())[:m, :n]
        for first in range(0, m, 1024):
            rows = slice(first, first + 1024)
            expected = ((sums[rows].float() * scale_a[rows, None]) * scale_b[None, :] + bias.float()[None, :]).bfloat16()
            if not torch.equal(c[rows], expected):
                raise SystemExit(f"{shape}: wrong result from {variant} in rows {first} to {first + 1023}")
        del whole, sums, expected
        times = {name: [] for name in calls}
        for _ in range(options.rounds):
            for name, call in calls.items():
                times[name].append(event_time(call, flush))
        operations = 2 * m * n * k
        floor = max(operations / options.tops * 1e-9, (m * k + n * k + 2 * m * n) / options.bandwidth * 1e-9)
        for name, values in times.items():
            median = statistics.median(values)
            print(f"{shape:>18} {name:14} {median:9.4f} ms  min {min(values):9.4f}  {operations / median * 1e-9:7.1f} TOPS  "
                  f"floor {floor:.4f} ms, {floor / median:.0%}  {variant if name == 'ckitchen' else ''}")
        if "torch._int_mm" in times:
            ratio = statistics.median(x / y for x, y in zip(times["torch._int_mm"], times["ckitchen"]))
            print(f"{shape:>18} torch._int_mm / ckitchen: {ratio:.3f}")

    operand = torch.zeros(64, 64, dtype=torch.int8, device="cuda")
    small = GemmArgs(ctypes.sizeof(GemmArgs), CK_BF16, 64, 64, 64, operand.data_ptr(), 0, operand.data_ptr(), 0, c.data_ptr(), 0,
                     scale_a.data_ptr(), scale_b.data_ptr())
    reference = ctypes.byref(small)
    empty = GemmArgs(ctypes.sizeof(GemmArgs), CK_BF16, 0, 64, 64)
    nothing = ctypes.byref(empty)
    call = ck.ck_int8_gemm
    print(f"host: a small ck_int8_gemm {host_time(lambda: call(context, reference, stream)):.2f} us, the same call with m = 0 "
          f"{host_time(lambda: call(context, nothing, stream)):.2f} us (both with ctypes' cost), torch add of 1 element "
          f"{host_time(lambda t=torch.zeros(1, device='cuda'): t.add_(1)):.2f} us")


if __name__ == "__main__":
    main()
