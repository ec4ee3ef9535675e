"""Times the W4A8 operators and the linears on one CUDA or ROCm device, with events.

    compare_w4a8.py --library build/release/src/libckitchen.so [--rounds 30] [--only requantize|many|middle|few]

Weights and activations are random normal numbers in bfloat16, groups of 16, e4m3 scales; medians of events around single calls, the
operators of a line taken in turn. Requantization: rotated input, and raw input with a rotation by 256. Linears: the whole call, the
activation quantized, beside the INT8 GEMM alone on the same sizes; few rows with the L2 cache flushed before every call.
"""

import argparse
import ctypes
import statistics

try:
    import torch
except ImportError:  # --help needs none
    torch = None

CK_F32, CK_BF16, CK_F8_E4M3 = 1, 3, 4
POINTER, I64, I32, U64, U32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint32


def structure(name, text):
    """A ctypes struct of 'type name name, ...', zeroed, its struct_size set when it is made."""
    kinds = {"p": POINTER, "q": I64, "i": I32, "Q": U64, "I": U32}
    fields = [("struct_size", U32)]
    for part in text.split(","):
        kind, *names = part.split()
        fields += [(field, kinds[kind]) for field in names]
    made = type(name, (ctypes.Structure,), {"_fields_": fields})

    def make(**values):
        args = made(ctypes.sizeof(made))
        for field, value in values.items():
            setattr(args, field, value.data_ptr() if isinstance(value, torch.Tensor) else value)
        return args

    return make


options_args = structure("ck_context_options", "i backend ordinal threads, I flags reserved0, p disable runtime_path")
gemm_args = structure("ck_int8_gemm_args", "i out_dtype, q m n k, p a, q lda, p b, q ldb, p c, q ldc, p scale_a scale_b, "
                      "i scale_a_mode scale_b_mode, p bias, i bias_dtype, I reserved0, p workspace, Q workspace_size")
int8_linear_args = structure("ck_int8_linear_args", "i x_dtype, q m n k, p x, q ldx, p w, q ldw, p w_scale bias y, q ldy, "
                             "i out_dtype bias_dtype w_scale_mode activation rotate_group, I reserved0, p workspace, "
                             "Q workspace_size")
requant_args = structure("ck_w4a8_requant_args", "i dtype, q n k, p weight, q ldw, i group layout rotate_group s_rel_dtype, "
                         "Q seed row_offset, p codebook packed, q ld_packed, p s_rel, q ld_s_rel, p s_channel correction, "
                         "q ld_correction, p nonfinite workspace, Q workspace_size")
w4a8_linear_args = structure("ck_w4a8_linear_args", "i x_dtype, q m n k, p x, q ldx, p packed, q ld_packed, p s_rel, q ld_s_rel, "
                             "p s_channel codebook correction, q ld_correction, p bias y, q ldy, i group layout s_rel_dtype "
                             "correction_dtype out_dtype bias_dtype activation rotate_group, p workspace, Q workspace_size")


class Library:
    def __init__(self, path):
        self.ck = ctypes.CDLL(path)
        self.ck.ck_last_error.restype = self.ck.ck_last_variant.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        torch.cuda.init()
        options = options_args(backend=2 if torch.version.hip else 3, ordinal=torch.cuda.current_device())
        self.check(self.ck.ck_context_create(ctypes.byref(options), ctypes.byref(self.context)))
        self.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def check(self, status):
        if status != 0:
            raise SystemExit(self.ck.ck_last_error().decode())

    def call(self, op, args):
        """A function that runs the operator, its workspace allocated, and the variant that it runs."""
        size = U64()
        self.check(getattr(self.ck, op + "_workspace_size")(self.context, ctypes.byref(args), ctypes.byref(size)))
        workspace = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
        args.workspace, args.workspace_size = workspace.data_ptr(), size.value
        function, reference = getattr(self.ck, op), ctypes.byref(args)

        def run(keep=(workspace, args)):
            self.check(function(self.context, reference, self.stream))

        run()
        return run, self.ck.ck_last_variant().decode()


def measure(calls, rounds, flush=None):
    """Median times of the calls in ms, taken in turn."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if flush is not None:
                flush.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end))
    return {name: statistics.median(values) for name, values in times.items()}


def empty(shape, dtype):
    return torch.empty(shape, dtype=dtype, device="cuda")


def requantize(library, n, k, weight, rotate_group):
    """Arguments and outputs of the requantization of a weight."""
    packed, s_rel, s_channel = empty((n, k // 2), torch.int8), empty((n, k // 16), torch.uint8), empty(n, torch.float32)
    args = requant_args(dtype=CK_BF16, n=n, k=k, weight=weight, group=16, rotate_group=rotate_group, packed=packed, s_rel=s_rel,
                        s_channel=s_channel)
    return library.call("ck_w4a8_requant", args), (packed, s_rel, s_channel)


def report(title, times, base, variants):
    for name, value in times.items():
        ratio = f"{value / times[base]:6.3f} of {base}" if name != base else ""
        print(f"{title:>20} {name:24} {value:9.4f} ms  {ratio:34} {variants.get(name, '')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", choices=("requantize", "many", "middle", "few"),
                        help="requantization, linears on many, on 64 to 2048 or on few rows")
    options = parser.parse_args()
    if torch is None:
        parser.error("PyTorch is needed")
    library = Library(options.library)
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}")
    flush = empty(256 << 20, torch.uint8)

    for n, k in ((3072, 3072), (5120, 5120), (13824, 5120), (28672, 5376)):
        if options.only not in (None, "requantize"):
            break
        weight = torch.randn((n, k), device="cuda").bfloat16()
        calls, variants, kept = {}, {}, []
        for name, group in (("requantize", 0), ("rotate 256, requantize", 256)):
            (calls[name], variants[name]), outputs = requantize(library, n, k, weight, group)
            kept.append(outputs)
        report(f"{n}x{k}", measure(calls, options.rounds), "requantize", variants)

    middle = [(m, n, k) for n, k in ((9216, 3072), (28672, 5376)) for m in (128, 256, 512, 1024, 2048)]
    for m, n, k in ((12544, 9216, 3072), (30000, 21504, 5376), *middle, (1, 9216, 3072), (1, 28672, 5376), (2, 28672, 5376),
                    (4, 28672, 5376), (8, 9216, 3072), (8, 28672, 5376), (16, 28672, 5376), (32, 28672, 5376), (64, 28672, 5376)):
        if options.only not in (None, "few" if m <= 64 else "many" if m > 2048 else "middle"):
            continue
        x = torch.randn((m, k), device="cuda").bfloat16()
        y, bias = empty((m, n), torch.bfloat16), torch.randn(n, device="cuda").bfloat16()
        w = torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda")
        q = torch.randint(-127, 128, (m, k), dtype=torch.int8, device="cuda")
        scale, row_scale = torch.rand(n, device="cuda") * 1e-3, torch.rand(m, device="cuda") * 1e-3
        _, (packed, s_rel, s_channel) = requantize(library, n, k, torch.randn((n, k), device="cuda").bfloat16(), 0)
        problems = {
            "ck_int8_gemm": gemm_args(out_dtype=CK_BF16, m=m, n=n, k=k, a=q, b=w, c=y, scale_a=row_scale, scale_b=scale,
                                      bias=bias, bias_dtype=CK_BF16),
            "ck_int8_linear": int8_linear_args(x_dtype=CK_BF16, m=m, n=n, k=k, x=x, w=w, w_scale=scale, bias=bias, y=y,
                                               out_dtype=CK_BF16, bias_dtype=CK_BF16),
            "ck_w4a8_linear": w4a8_linear_args(x_dtype=CK_BF16, m=m, n=n, k=k, x=x, packed=packed, s_rel=s_rel,
                                               s_channel=s_channel, bias=bias, y=y, group=16, out_dtype=CK_BF16,
                                               bias_dtype=CK_BF16),
        }
        calls, variants = {}, {}
        for op, args in problems.items():
            calls[op], variants[op] = library.call(op, args)
        times = measure(calls, options.rounds, flush if m <= 64 else None)
        report(f"{m}x{n}x{k}", times, "ck_int8_linear" if m <= 64 else "ck_int8_gemm", variants)


if __name__ == "__main__":
    main()
