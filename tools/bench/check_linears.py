"""Checks on one CUDA or ROCm device that the kernels of a linear, which may run beside each other, keep in order with what a stream holds
before and after them.

    check_linears.py --library build/release/src/libckitchen.so [--rounds 20]

Activation and weight change right before each call and are overwritten right after it, without a wait, eagerly and in a graph. Results
are compared with those of the operators that a linear consists of, each by itself. Prints one line a check; exit status 0 only when all
passed.
"""

import argparse
import ctypes

try:
    import torch
except ImportError:  # --help needs none
    torch = None

from compare_w4a8 import (CK_BF16, Library, empty, gemm_args, int8_linear_args, requant_args, structure, w4a8_linear_args)

CK_I8 = 10

quantize_args = structure("ck_int8_quantize_args", "i dtype, q rows k, p x, q ldx, p q, q ldq, p scale, i activation rotate_group, "
                          "p workspace, Q workspace_size")
dequant_args = structure("ck_w4a8_dequant_args", "i out_dtype, q n k, i group layout s_rel_dtype rotate_group, p packed, q ld_packed, "
                         "p s_rel, q ld_s_rel, p s_channel codebook correction, q ld_correction, i correction_dtype, I reserved0, "
                         "p out, q ldo")


class Linear:
    """A linear's operands, which change from call to call, and what the operators by themselves make of them."""

    def __init__(self, library, m, n, k):
        self.library, self.m, self.n, self.k = library, m, n, k
        self.x = empty((m, k), torch.bfloat16)
        self.y = empty((m, n), torch.bfloat16)
        self.bias = torch.randn(n, device="cuda").bfloat16()
        self.scale = torch.rand(n, device="cuda") * 1e-2
        self.activations = [torch.randn((m, k), device="cuda").bfloat16() for _ in range(3)]

    def operator(self, name, args):
        function, _ = self.library.call(name, args)
        torch.cuda.synchronize()
        return function

    def product(self, x, grid):
        """Of the quantized activation and the weight's grid, one operator after the other."""
        q, scale, y = empty((self.m, self.k), torch.int8), empty(self.m, torch.float32), empty((self.m, self.n), torch.bfloat16)
        self.operator("ck_int8_quantize", quantize_args(dtype=CK_BF16, rows=self.m, k=self.k, x=x, q=q, scale=scale))
        self.operator("ck_int8_gemm", gemm_args(out_dtype=CK_BF16, m=self.m, n=self.n, k=self.k, a=q, b=grid, c=y, scale_a=scale,
                                                scale_b=self.scale, bias=self.bias, bias_dtype=CK_BF16))
        return y


class Int8Linear(Linear):
    def __init__(self, library, m, n, k):
        super().__init__(library, m, n, k)
        self.weights = [(torch.randint(-127, 128, (n, k), dtype=torch.int8, device="cuda"),) for _ in range(2)]
        self.operands = (empty((n, k), torch.int8),)
        self.call = self.operator("ck_int8_linear", int8_linear_args(
            x_dtype=CK_BF16, m=m, n=n, k=k, x=self.x, w=self.operands[0], w_scale=self.scale, bias=self.bias, y=self.y, out_dtype=CK_BF16,
            bias_dtype=CK_BF16))

    def expected(self, x, weight):
        return self.product(x, weight[0])


class W4a8Linear(Linear):
    def __init__(self, library, m, n, k):
        super().__init__(library, m, n, k)
        self.weights = [self.requantized() for _ in range(2)]
        self.operands = tuple(torch.empty_like(part) for part in self.weights[0])
        self.call = self.operator("ck_w4a8_linear", w4a8_linear_args(
            x_dtype=CK_BF16, m=m, n=n, k=k, x=self.x, packed=self.operands[0], s_rel=self.operands[1], s_channel=self.scale, bias=self.bias,
            y=self.y, group=16, out_dtype=CK_BF16, bias_dtype=CK_BF16))

    def requantized(self):
        packed, s_rel = empty((self.n, self.k // 2), torch.int8), empty((self.n, self.k // 16), torch.uint8)
        self.operator("ck_w4a8_requant", requant_args(
            dtype=CK_BF16, n=self.n, k=self.k, weight=torch.randn((self.n, self.k), device="cuda").bfloat16(), group=16, packed=packed,
            s_rel=s_rel, s_channel=empty(self.n, torch.float32)))
        return packed, s_rel

    def expected(self, x, weight):
        grid = empty((self.n, self.k), torch.int8)
        self.operator("ck_w4a8_dequant", dequant_args(out_dtype=CK_I8, n=self.n, k=self.k, group=16, packed=weight[0], s_rel=weight[1],
                                                      out=grid))
        return self.product(x, grid)


def run(linear, rounds, graph):
    """Is every one of the results right?"""
    pairs = [(x, weight) for x in linear.activations for weight in linear.weights]
    expected = [linear.expected(x, weight) for x, weight in pairs]
    source = [torch.empty_like(linear.x)] + [torch.empty_like(part) for part in linear.operands]
    target = [linear.x, *linear.operands]
    result = torch.empty_like(linear.y)

    def step():
        for to, part in zip(target, source):
            to.copy_(part)
        linear.call()
        result.copy_(linear.y)
        for part in (*target, linear.y):
            part.zero_()

    recorded = None
    if graph:
        recorded = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            linear.library.stream = ctypes.c_void_p(side.cuda_stream)
            recorded.capture_begin()
            step()
            recorded.capture_end()
            linear.library.stream = ctypes.c_void_p(torch.cuda.default_stream().cuda_stream)
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    for number in range(rounds):
        x, weight = pairs[number % len(pairs)]
        for to, part in zip(source, (x, *weight)):
            to.copy_(part)
        recorded.replay() if graph else step()
        wrong += (result != expected[number % len(pairs)]).sum()
    return wrong.item() == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    if torch is None:
        parser.error("PyTorch is needed")
    library = Library(options.library)
    failures = 0
    # One part and several parts of the weight, few rows.
    for kind in (Int8Linear, W4a8Linear):
        for m, n, k in ((1000, 9216, 3072), (300, 28672, 5376), (64, 9216, 3072), (1, 9216, 3072)):
            linear = kind(library, m, n, k)
            for graph in (False, True):
                passed = run(linear, options.rounds, graph)
                failures += not passed
                print(f"{'ok    ' if passed else 'FAILED'} {kind.__name__} {m}x{n}x{k}, {'in a graph' if graph else 'eagerly'}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
