"""Runs a client that is written in some language on small golden problems and compares what it brings back; then on mistakes, whose
status and text must reach the caller.

    ffi_test.py BACKEND GOLDEN_FOLDER WORK_FOLDER CLIENT...

Each problem is a folder with a file `problem`, one item a line, which the client follows:

    op NAME            the operator without ck_, or "context": make one with the texts below, nothing else
    int NAME VALUE     a field; "ints NAME VALUE..." an array field, "float NAME VALUE", "text NAME VALUE"
    in NAME FILE       a pointer field: device memory with the file's bytes
    out NAME BYTES     a pointer field: device memory, whose bytes go to NAME.out after the call

A call that fails writes its status and its text, a line each, to `error`, and goes on. The client is called with the backend and the
problem folders.
"""

import array
import json
import math
import os
import shutil
import struct
import subprocess
import sys

DTYPES = {"F32": 1, "F16": 2, "BF16": 3, "F8_E4M3": 4, "I8": 10, "I32": 11}
WIDTHS = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "I8": 1, "I32": 4}
LAYOUTS = {"codebook": 0, "uniform": 1, "asymmetric": 2}
# The header's bound on the relative L2 error; its other term only widens it.
NA3D_BOUND = {"F32": 2e-6, "F16": 6e-4, "BF16": 4e-3}


class Golden:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        size = struct.unpack("<Q", data[:8])[0]
        self.header = json.loads(data[8:8 + size])
        self.data = data[8 + size:]
        self.cases = {case["case"]: case for case in json.loads(self.header["__metadata__"]["cases"])}

    def tensor(self, name):
        if name not in self.header:
            return None
        begin, end = self.header[name]["data_offsets"]
        return self.data[begin:end]


class Problem:
    def __init__(self, folder, op):
        self.folder, self.lines = folder, [f"op {op}"]
        os.makedirs(folder)

    def integers(self, **fields):
        self.lines += [f"int {name} {value}" for name, value in fields.items()]

    def input(self, name, data):
        if data is not None:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(data)
            self.lines.append(f"in {name} {name}")

    def write(self):
        with open(os.path.join(self.folder, "problem"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")

    def result(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return file.read()


def rows(data, ld, columns, width):
    return b"".join(data[start:start + columns * width] for start in range(0, len(data), ld * width))


def same(problem, name, expected):
    actual = problem.result(name + ".out")
    if actual == expected:
        return []
    return [f"{problem.folder}: {name} " + ("is missing" if actual is None else "differs from the golden")]


def int8_gemm(golden, case, folder):
    c = golden.cases[case]
    problem = Problem(folder, "int8_gemm")
    scalar = {"scalar": 1}
    problem.integers(out_dtype=DTYPES[c["out"]], m=c["m"], n=c["n"], k=c["k"], lda=c["lda"], ldb=c["ldb"], ldc=c["ldc"],
                     scale_a_mode=scalar.get(c["scale_a"], 0), scale_b_mode=scalar.get(c["scale_b"], 0),
                     bias_dtype=DTYPES[c["bias"]] if c["bias"] else 0)
    for name in ("a", "b", "scale_a", "scale_b", "bias"):
        problem.input(name, golden.tensor(f"{case}.{name}"))
    width = WIDTHS[c["out"]]
    problem.lines.append(f"out c {c['m'] * c['ldc'] * width}")

    def check():
        actual = problem.result("c.out")
        if actual is None or rows(actual, c["ldc"], c["n"], width) != golden.tensor(f"{case}.c"):
            return [f"{folder}: c differs from the golden"]
        return []

    return problem, check


def w4a8_requant(golden, case, folder):
    c = golden.cases[case]
    problem = Problem(folder, "w4a8_requant")
    problem.integers(dtype=DTYPES[c["dtype"]], n=c["n"], k=c["k"], group=c["group"], layout=LAYOUTS[c["layout"]],
                     s_rel_dtype=DTYPES[c["scale_dtype"]], seed=c["seed"], row_offset=c["row_offset"])
    problem.input("weight", golden.tensor(f"{case}.weight"))
    if c["layout"] == "codebook":
        problem.input("codebook", golden.tensor("codebook"))
    outputs = [name for name in ("packed", "s_rel", "s_channel", "correction") if golden.tensor(f"{case}.{name}") is not None]
    if c["layout"] == "asymmetric":
        problem.integers(ld_correction=c["n"])
    problem.lines += [f"out {name} {len(golden.tensor(f'{case}.{name}'))}" for name in outputs]
    return problem, lambda: [text for name in outputs for text in same(problem, name, golden.tensor(f"{case}.{name}"))]


def half(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def floats(data, dtype):
    if dtype == "F32":
        return array.array("f", data).tolist()
    values = array.array("H", data).tolist()
    return [half(v) for v in values] if dtype == "F16" else array.array("f", array.array("I", [v << 16 for v in values]).tobytes()).tolist()


def na3d(golden, case, folder):
    c = golden.cases[case]
    problem = Problem(folder, "na3d")
    batch, t, h, w, heads, head_dim = c["shape"]
    problem.integers(dtype=DTYPES[c["dtype"]], batch=batch, t=t, h=h, w=w, heads=heads, head_dim=head_dim)
    for name in ("kernel", "dilation", "causal"):
        problem.lines.append(f"ints {name} " + " ".join(str(int(value)) for value in c[name]))
    problem.lines.append(f"float scale {c['scale']!r}")
    for name in ("q", "k", "v"):
        problem.input(name, golden.tensor(f"{case}.{name}"))
    problem.lines.append(f"out out {math.prod(c['shape']) * WIDTHS[c['dtype']]}")

    def check():
        data = problem.result("out.out")
        if data is None:
            return [f"{folder}: out is missing"]
        expected = floats(golden.tensor(f"{case}.out"), "F32")
        difference = math.dist(floats(data, c["dtype"]), expected) / math.hypot(*expected)
        if not difference <= NA3D_BOUND[c["dtype"]]:
            return [f"{folder}: out is {difference:.3g} from the golden"]
        return []

    return problem, check


def mistake(folder, op, lines, status, text):
    """A call that must fail with this status and with this text in its own."""
    problem = Problem(folder, op)
    problem.lines += lines

    def check():
        told = (problem.result("error") or b"").decode()
        if told.startswith(f"{status}\n") and text in told:
            return []
        return [f"{folder}: told '{told.strip()}', expected {status} and '{text}'"]

    return problem, check


def main(backend, golden_folder, work, *client):
    shutil.rmtree(work, ignore_errors=True)
    problems = []
    for name, make, cases in (("int8_gemm", int8_gemm, ("c1", "c3", "c6")), ("w4a8_requant", w4a8_requant, ("c0", "c1", "c3")),
                              ("na3d", na3d, ("c7", "c11"))):
        golden = Golden(os.path.join(golden_folder, name + ".safetensors"))
        if make is w4a8_requant:  # every layout has its own pointers
            for layout in LAYOUTS:
                if not any(golden.cases[case]["layout"] == layout for case in cases):
                    cases += (next(case for case in golden.cases if golden.cases[case]["layout"] == layout),)
        problems += [make(golden, case, os.path.join(work, f"{name}-{case}")) for case in cases]
    gemm = ["int m 2", "int n 3", "int k 4", "int out_dtype 11"]
    problems += [
        mistake(os.path.join(work, "bad-stride"), "int8_gemm", [*gemm, "int lda 3"], 10, "lda is 3, must be at least k = 4 "),
        mistake(os.path.join(work, "null-pointer"), "int8_gemm", gemm, 10, "a is NULL"),
        mistake(os.path.join(work, "no-dtype"), "na3d", ["int batch 1"], 10, "dtype"),
        mistake(os.path.join(work, "bad-group"), "w4a8_requant", ["int dtype 1", "int n 1", "int k 32", "int group 5"], 10, "group is 5"),
        mistake(os.path.join(work, "bad-disable"), "context", ["text disable frobnicate"], 14, "frobnicate"),
    ]
    for problem, _ in problems:
        problem.write()
    result = subprocess.run([*client, backend, *(problem.folder for problem, _ in problems)], capture_output=True, text=True)
    failures = [f"the client ended with status {result.returncode}: {result.stdout}{result.stderr}"] if result.returncode else []
    for problem, check in problems:
        told = problem.result("error")
        failures += check()
        if told is not None and "out" in (line.split()[0] for line in problem.lines):
            failures.append(f"{problem.folder}: {told.decode().strip()}")
    # A client that says nothing of what ran may have run something else.
    if f"device {backend}" not in result.stdout:
        failures.append(f"the client says '{result.stdout.strip()}', not that it ran on {backend}")
    for failure in failures:
        print(failure)
    print(f"{len(problems)} problems, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
