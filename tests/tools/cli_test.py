#!/usr/bin/env python3
"""Runs the program on good and bad files. Standard library only.

    cli_test.py PROGRAM SAMPLE CASE     SAMPLE is tests/data/minilm-layers.safetensors; exit status 77: cannot be run here

What the program writes is decoded here a second time, by code that shares nothing with it.
"""

import array
import contextlib
import json
import math
import os
import pty
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM, SAMPLE, CASE = sys.argv[1], sys.argv[2], sys.argv[3]
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "I64": 8, "I32": 4, "I8": 1, "U8": 1}


class Skip(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what) or "check failed")


def equal(a, b, *what):
    check(a == b, *what, repr(a)[:500], "!=", repr(b)[:500])


# ---------------------------------------------------------------------------------------------------------
# Files


def pack(tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes)."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def load(path):
    """name -> (dtype, shape, bytes, offset), and the metadata."""
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack("<Q", raw[:8])
    equal((8 + size) % 8, 0, "the data does not begin at a multiple of 8")
    header = json.loads(raw[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    data = raw[8 + size :]
    out, covered = {}, 0
    for name, info in header.items():
        begin, end = info["data_offsets"]
        equal(begin, covered, "hole or overlap before", name)
        covered = end
        equal(end - begin, math.prod(info["shape"]) * SIZES[info["dtype"]], name)
        equal(begin % SIZES[info["dtype"]], 0, "not aligned:", name)
        out[name] = (info["dtype"], info["shape"], data[begin:end])
    equal(covered, len(data), "bytes after the last tensor")
    return out, metadata


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    return path


def gauss(count, seed, sigma=0.05):
    generator = random.Random(seed)
    return array.array("f", (generator.gauss(0, sigma) for _ in range(count)))


def bf16(values):
    bits = array.array("I", values.tobytes())
    return array.array("H", ((b + 0x7FFF + ((b >> 16) & 1)) >> 16 for b in bits)).tobytes()


def floats(dtype, raw):
    if dtype == "F32":
        return list(array.array("f", raw))
    if dtype == "F16":
        return list(struct.unpack("<%de" % (len(raw) // 2), raw))
    return list(array.array("f", array.array("I", (h << 16 for h in array.array("H", raw))).tobytes()))


def small_model():
    """Layers of several dtypes and widths, and tensors of every kind that is kept."""
    return {
        "blocks.0.attn.weight": ("F32", [24, 256], gauss(24 * 256, 1).tobytes()),
        "blocks.0.attn.bias": ("F32", [24], gauss(24, 2).tobytes()),
        "blocks.1.mlp.weight": ("BF16", [16, 192], bf16(gauss(16 * 192, 3))),
        "blocks.2.mlp.weight": ("F16", [8, 48], struct.pack("<384e", *gauss(384, 4))),
        "blocks.0.norm.weight": ("F32", [24], gauss(24, 5).tobytes()),
        "img_in.weight": ("BF16", [4, 16], bf16(gauss(64, 6))),
        "narrow.weight": ("F32", [4, 20], gauss(80, 7).tobytes()),
        "conv.weight": ("F32", [2, 16, 1], gauss(32, 8).tobytes()),
        "steps": ("I64", [2], struct.pack("<2q", 1, 1000)),
        "odd": ("U8", [3], b"abc"),
    }


LAYERS = ["blocks.0.attn", "blocks.1.mlp", "blocks.2.mlp"]


def big_model(path, megabytes, name="blocks.%d.weight"):
    """bf16 layers of 16 MB each, the same random values again and again."""
    block = bf16(gauss(1 << 16, 9))
    count = megabytes // 16
    header, at = {}, 0
    for i in range(count):
        header[name % i] = {"dtype": "BF16", "shape": [2048, 4096], "data_offsets": [at, at + (1 << 24)]}
        at += 1 << 24
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _ in range(at // len(block)):
            file.write(block)
    return path


# ---------------------------------------------------------------------------------------------------------
# The formats, decoded independently


def e4m3(byte):
    sign = -1.0 if byte & 0x80 else 1.0
    exponent, mantissa = (byte >> 3) & 15, byte & 7
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (1 + mantissa / 8) * 2.0 ** (exponent - 7)


def rotate(row, group):
    """The regular Hadamard matrix kron(H4, ...)/sqrt(group) on each block; its own inverse."""
    out = list(row)
    for base in range(0, len(out), group):
        stride = 1
        while stride < group:
            for i in range(base, base + group):
                if ((i - base) // stride) % 4 == 0:
                    a, b, c, e = out[i], out[i + stride], out[i + 2 * stride], out[i + 3 * stride]
                    out[i], out[i + stride] = a + b + c - e, a + b - c + e
                    out[i + 2 * stride], out[i + 3 * stride] = a - b + c + e, b - a + c + e
            stride *= 4
        for i in range(base, base + group):
            out[i] /= math.sqrt(group)
    return out


def decode(tensors, layer, marker):
    """The float weight, a list of rows, un-rotated."""
    _, shape, raw = tensors[layer + ".weight"]
    rows = []
    if marker["format"] == "asym_w4a8_int8":
        n, k, g = shape[0], shape[1] * 2, marker["group_size"]
        s_rel = tensors[layer + ".weight_s_rel"][2]
        s_channel = array.array("f", tensors[layer + ".weight_s_channel"][2])
        if layer + ".weight_codebook" in tensors:
            levels = list(array.array("f", tensors[layer + ".weight_codebook"][2]))
            check(levels == sorted(levels), "levels are not ascending")
        else:
            levels = [float(code - 8) for code in range(16)]
        for i in range(n):
            row = []
            for j in range(k):
                byte = raw[i * shape[1] + j // 2]
                code = byte & 15 if j % 2 == 0 else byte >> 4
                step = levels[code] * e4m3(s_rel[i * (k // g) + j // g])
                row.append(max(-127, min(127, round(step))) * s_channel[i])
            rows.append(row)
    else:
        n, k = shape
        scale = array.array("f", tensors[layer + ".weight_scale"][2])
        equal(tensors[layer + ".weight_scale"][1], [n, 1])
        q = array.array("b", raw)
        rows = [[q[i * k + j] * scale[i] for j in range(k)] for i in range(n)]
    if marker.get("convrot"):
        rows = [rotate(row, marker["convrot_groupsize"]) for row in rows]
    return rows


def relative_error(original, rows):
    flat = [value for row in rows for value in row]
    equal(len(flat), len(original))
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(flat, original)) / sum(b * b for b in original))


# ---------------------------------------------------------------------------------------------------------
# Running the program


def run(*arguments, status=0, **options):
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, **options)
    out, err = done.stdout.decode(), done.stderr.decode()
    equal(done.returncode, status, "exit status of", arguments, out, err)
    return out, err


def fails(status, *arguments, names=(), **options):
    """One line on stderr, nothing on stdout."""
    out, err = run(*arguments, status=status, **options)
    equal(out, "", "stdout of a failing run")
    lines = err.splitlines()
    equal(len(lines), 1, "more than one line:", err)
    check(lines[0].startswith("ckitchen: error: "), lines[0])
    for name in names:
        check(name in lines[0], name, "is not in", lines[0])
    return lines[0]


def quantize(source, target, *arguments, status=0, **options):
    return run("quantize", source, "-o", target, *arguments, status=status, **options)


def same_file(a, b):
    with open(a, "rb") as one, open(b, "rb") as two:
        return one.read() == two.read()


@contextlib.contextmanager
def mounted(folder, options):
    """A small tmpfs, where this process may mount one."""
    os.mkdir(folder)
    if os.geteuid() != 0:
        raise Skip("only root may mount a file system")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "ckitchen-test", folder], stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Skip("cannot mount: " + done.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


# ---------------------------------------------------------------------------------------------------------
# Cases


def broken_files(folder):
    """Every command answers a broken file with one line, status 3 and no output."""
    ok = {"dtype": "F32", "shape": [1, 16], "data_offsets": [0, 64]}
    data = bytes(64)

    def headed(header, payload=data):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + payload

    entry = json.dumps(ok).encode()
    files = {
        "empty": b"",
        "seven": b"1234567",
        "truncated-header": headed({"a.weight": ok})[:40],
        "truncated-data": headed({"a.weight": ok})[:-1],
        "trailing": headed({"a.weight": ok}, data + b"x"),
        "length-100MB": struct.pack("<Q", 100_000_001) + b"{}",
        "length-2^64": b"\xff" * 8 + b"{}",
        "text": b"this is not a checkpoint, but it is longer than eight bytes",
        "overlap": headed({"a.weight": ok, "b": ok}),
        "hole": headed({"a.weight": dict(ok, data_offsets=[4, 68])}, data + b"1234"),
        "overflow": headed({"a.weight": dict(ok, shape=[1 << 33, 1 << 33])}),
        "negative": headed({"a.weight": dict(ok, shape=[-1, 16])}),
        "fraction": headed({"a.weight": dict(ok, shape=[1.5, 16])}),
        "duplicate": headed(b'{"a.weight":' + entry + b',"a.weight":' + entry + b"}"),
        "wrong-dtype": headed({"a.weight": dict(ok, dtype="F99")}),
        "wrong-size": headed({"a.weight": dict(ok, dtype="F64")}),
        "deep": headed(b'{"a":' + b"[" * 1_000_000),
        "not-utf8": headed(b'{"\xff.weight":' + entry + b"}"),
        "nul": headed(b'{"a.weight":' + entry + b"}\0{"),
        "metadata-number": headed({"__metadata__": {"k": 1}, "a.weight": ok}),
    }
    for name, content in files.items():
        path = write(os.path.join(folder, name + ".safetensors"), content)
        before = sorted(os.listdir(folder))
        target = os.path.join(folder, "out.safetensors")
        fails(3, "quantize", path, "-o", target, "--format", "w4a8", names=[name + ".safetensors"])
        fails(3, "quantize", path, "--dry-run", "--format", "int8", names=[name + ".safetensors"])
        fails(3, "dequantize", path, "-o", target, names=[name + ".safetensors"])
        fails(3, "inspect", path, names=[name + ".safetensors"])
        equal(sorted(os.listdir(folder)), before, "files left behind by", name)
    fails(3, "inspect", os.path.join(folder, "none.safetensors"), names=["none.safetensors", "No such file"])
    fails(3, "inspect", "/dev/null", names=["not a regular file"])
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    fails(3, "inspect", fifo, names=["not a regular file"])
    for shard in ("../x.safetensors", "/etc/passwd"):
        index = write(os.path.join(folder, "m.safetensors.index.json"), json.dumps({"weight_map": {"a": shard}}).encode())
        fails(3, "quantize", index, "-o", target, "--format", "w4a8", names=['"a"', "plain file name"])


def info_and_help(folder):
    out, _ = run("info")
    check("backend cpu" in out and "built-in targets" in out, out)
    info = json.loads(run("info", "--json", env=dict(os.environ, CKITCHEN_LOG="error"))[0])
    equal(info["environment"].get("CKITCHEN_LOG"), "error")
    check(any(b["name"] == "cpu" and b["devices"][0]["usable"] for b in info["backends"]), info)
    check(any(b["name"] == "cpu" and min(b["devices"][0]["operators"].values()) == 1 for b in info["backends"]), info)
    check("runs int8_gemm, int8_quantize" in out, out)
    equal(run("--version")[0].split()[0], "ckitchen")
    for command in ("quantize", "dequantize", "inspect", "info", "verify", "bench"):
        out, _ = run(command, "--help")
        check("Examples:" in out and "ckitchen " + command in out and "-q,--quiet" in out, out)
    check("Exit status:" in run("--help")[0])
    out, _ = run("quantize", "--help")
    check(all(" " + pattern in out for pattern in (".*embed.*", ".*norm.*", "proj_out", "patch_in")), out)


def inspect_reports_layers(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model(), {"format": "pt"}))
    target = os.path.join(folder, "q.safetensors")
    quantize(source, target, "--format", "w4a8")
    out, _ = run("inspect", target)
    check("blocks.0.attn: asym_w4a8_int8 [24, 256], groups of 16, codebook, rotation 256" in out, out)
    told = json.loads(run("inspect", "--json", target)[0])
    tensors, metadata = load(target)
    equal({t["name"]: (t["dtype"], t["shape"]) for t in told["tensors"]}, {n: (d, s) for n, (d, s, _) in tensors.items()})
    equal(told["metadata"], metadata)
    equal(sorted(told["layers"]), sorted(LAYERS))
    check(all("note" not in layer for layer in told["layers"].values()), told["layers"])
    # A layer that lost a tensor is described, not refused.
    del tensors["blocks.0.attn.weight_s_rel"]
    broken = write(os.path.join(folder, "b.safetensors"), pack(tensors, metadata))
    check('"blocks.0.attn.weight_s_rel" is missing' in run("inspect", broken)[0])


def dry_run(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    out, _ = run("quantize", source, "--format", "w4a8", "--dry-run", "--exclude", "^blocks\\.2", "--include", "^img_in")
    equal(os.listdir(folder), ["m.safetensors"])
    lines = out.splitlines()

    def line(name):
        found = [l for l in lines if " " + name + ":" in l]
        equal(len(found), 1, name, out)
        return found[0]

    check("quantize asym_w4a8_int8, rotation 256" in line("blocks.0.attn.weight"))
    check("quantize asym_w4a8_int8, rotation 64" in line("blocks.1.mlp.weight"))
    check("excluded" in line("blocks.2.mlp.weight"))
    check("quantize" in line("img_in.weight"))
    check("K=20 is not divisible by 16" in line("narrow.weight"))
    check("3 tensors to quantize, 7 kept" in out, out)


def check_layers(folder, format_name, marker_of, bound, *arguments):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model(), {"format": "pt"}))
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    quantize(source, target, "--format", format_name, "--report", report_path, *arguments)
    before, after = small_model(), load(target)[0]
    metadata = load(target)[1]
    equal(metadata["format"], "pt")
    markers = json.loads(metadata["_quantization_metadata"])["layers"]
    with open(report_path) as file:
        report = {layer["tensor"]: layer for layer in json.load(file)["layers"]}
    equal(sorted(markers), sorted(LAYERS))
    for layer in LAYERS:
        dtype, (_, k), raw = before[layer + ".weight"]
        marker = marker_of(k)
        equal(markers[layer], marker)
        marker_dtype, marker_shape, marker_raw = after[layer + ".comfy_quant"]
        equal((marker_dtype, marker_shape), ("U8", [len(marker_raw)]))
        equal(json.loads(marker_raw), marker)
        error = relative_error(floats(dtype, raw), decode(after, layer, marker))
        check(error < bound, layer, error)
        reported = report[layer + ".weight"]["relative_error"]
        check(abs(error - reported) < 1e-4 * error, layer, error, "reported as", reported)
    for name, tensor in before.items():
        if name[: -len(".weight")] not in LAYERS:
            equal(after[name], tensor, "not byte for byte:", name)
    return after


def w4a8_layout(folder):
    def marker(k, g=16):
        rotation = 256 if k % 256 == 0 else 64 if k % 64 == 0 else 16
        return {"format": "asym_w4a8_int8", "group_size": g, "convrot": True, "convrot_groupsize": rotation}

    after = check_layers(folder, "w4a8", marker, 0.08)
    equal({n: after["blocks.1.mlp.weight" + n][:2] for n in ("", "_s_rel", "_s_channel", "_codebook")},
          {"": ("I8", [16, 96]), "_s_rel": ("F8_E4M3", [16, 12]), "_s_channel": ("F32", [16]), "_codebook": ("F32", [16])})
    after = check_layers(folder, "w4a8", marker, 0.13, "--levels", "uniform")
    check("blocks.1.mlp.weight_codebook" not in after)
    check_layers(folder, "w4a8", lambda k: marker(k, 8), 0.07, "--group-size", "8")
    check_layers(folder, "w4a8", lambda k: dict(marker(k), convrot_groupsize=16), 0.08, "--rotate", "16")
    check_layers(folder, "w4a8", marker, 0.12, "--stochastic", "7")


def int8_layout(folder):
    def marker(k):
        rotation = 256 if k % 256 == 0 else 64 if k % 64 == 0 else 16
        return {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": rotation}

    after = check_layers(folder, "int8", marker, 0.012)
    equal(after["blocks.1.mlp.weight"][:2], ("I8", [16, 192]))
    check_layers(folder, "int8", lambda k: {"format": "int8_tensorwise"}, 0.012, "--rotate", "none")


def round_trip(folder):
    """dequantize gives the floats that the formats mean, and drops what belonged to the layers."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model(), {"format": "pt"}))
    for arguments in (["--format", "w4a8"], ["--format", "w4a8", "--levels", "uniform"], ["--format", "int8"],
                      ["--format", "int8", "--rotate", "none"]):
        quantized, back = os.path.join(folder, "q.safetensors"), os.path.join(folder, "b.safetensors")
        quantize(source, quantized, *arguments)
        tensors, metadata = load(quantized)
        for dtype, name, step in (("F32", "f32", 1e-5), ("BF16", "bf16", 2.0**-8), ("F16", "f16", 2.0**-10)):
            run("dequantize", quantized, "-o", back, "--dtype", name)
            decoded, decoded_metadata = load(back)
            equal(decoded_metadata, {"format": "pt"})
            equal(sorted(decoded), sorted(small_model()))
            for layer in LAYERS:
                marker = json.loads(metadata["_quantization_metadata"])["layers"][layer]
                expected = decode(tensors, layer, marker)
                got_dtype, shape, raw = decoded[layer + ".weight"]
                equal((got_dtype, shape), (dtype, [len(expected), len(expected[0])]))
                check(relative_error(floats(dtype, raw), expected) < step, layer, arguments)
            equal(decoded["odd"], small_model()["odd"])
    # Layers in other formats, or broken ones, stay as they are, and the status tells.
    tensors["blocks.0.attn.weight_scale"] = ("F32", [5, 1], bytes(20))
    broken = write(os.path.join(folder, "x.safetensors"), pack(tensors, metadata))
    _, err = run("dequantize", broken, "-o", back, status=5)
    check('layer "blocks.0.attn" is kept as it is' in err, err)
    equal(load(back)[0]["blocks.0.attn.weight"], tensors["blocks.0.attn.weight"])
    equal(list(json.loads(load(back)[1]["_quantization_metadata"])["layers"]), ["blocks.0.attn"])


def sharded_equals_single(folder):
    model = small_model()
    single = write(os.path.join(folder, "m.safetensors"), pack(model, {"format": "pt"}))
    shards = os.path.join(folder, "shards")
    os.mkdir(shards)
    names = list(model)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2])):
        file = "model-%05d-of-00002.safetensors" % (2 - number)
        write(os.path.join(shards, file), pack({n: model[n] for n in reversed(part)}, {"format": "pt"}))
        weight_map.update({n: file for n in part})
    index = os.path.join(shards, "model.safetensors.index.json")
    write(index, json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}).encode())
    for format_name in ("w4a8", "int8"):
        outputs = [os.path.join(folder, "%d.safetensors" % i) for i in range(3)]
        for source, target in zip((single, index, shards), outputs):
            quantize(source, target, "--format", format_name)
        check(same_file(outputs[0], outputs[1]) and same_file(outputs[0], outputs[2]), format_name)
    # No shard may be the output either.
    shard = os.path.join(shards, weight_map[names[0]])
    for target in (shard, index):
        fails(4, "quantize", index, "-o", target, "--format", "int8", names=["is an input file"])


def non_finite_is_kept(folder):
    model = small_model()
    values = gauss(24 * 256, 1)
    values[300] = float("nan")
    values[301] = float("-inf")
    model["blocks.0.attn.weight"] = ("F32", [24, 256], values.tobytes())
    halves = bytearray(model["blocks.1.mlp.weight"][2])
    halves[-2:] = b"\x80\x7f"  # bf16 infinity, the last element
    model["blocks.1.mlp.weight"] = ("BF16", [16, 192], bytes(halves))
    source = write(os.path.join(folder, "m.safetensors"), pack(model))
    for format_name in ("w4a8", "int8"):
        target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
        out, err = quantize(source, target, "--format", format_name, "--report", report_path, status=5)
        check("blocks.0.attn.weight: 2 NaN or infinite values" in out, out)
        check("blocks.1.mlp.weight: 1 NaN or infinite values" in out, out)
        check('tensor "blocks.0.attn.weight": 2 NaN' in err, err)
        after, metadata = load(target)
        for name in ("blocks.0.attn.weight", "blocks.1.mlp.weight"):
            equal(after[name], model[name], name)
        equal(list(json.loads(metadata["_quantization_metadata"])["layers"]), ["blocks.2.mlp"])
        with open(report_path) as file:
            kept = {k["tensor"]: k["reason"] for k in json.load(file)["kept"]}
        equal(kept["blocks.0.attn.weight"], "non_finite")
        # The finite layers are what they are without the others.
        clean = write(os.path.join(folder, "c.safetensors"), pack(small_model()))
        quantize(clean, target, "--format", format_name)
        equal(load(target)[0]["blocks.2.mlp.weight"], after["blocks.2.mlp.weight"])
    # Finite, but beyond what W4A8 scales are defined for.
    values[300] = values[301] = 2.0**100
    model["blocks.0.attn.weight"] = ("F32", [24, 256], values.tobytes())
    model["blocks.1.mlp.weight"] = small_model()["blocks.1.mlp.weight"]
    write(source, pack(model))
    out, _ = quantize(source, target, "--format", "w4a8", status=5)
    check("2 values of 2^100 or more" in out, out)
    quantize(source, target, "--format", "int8")


def already_quantized(folder):
    """A second conversion changes nothing; layers of other programs are left alone."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model(), {"format": "pt"}))
    first, second = os.path.join(folder, "1.safetensors"), os.path.join(folder, "2.safetensors")
    for one, two in (("w4a8", "int8"), ("int8", "w4a8"), ("w4a8", "w4a8")):
        quantize(source, first, "--format", one)
        quantize(first, second, "--format", two)
        check(same_file(first, second), one, two)
    model = small_model()
    model["blocks.1.mlp.weight"] = ("F8_E4M3", [16, 192], bytes(16 * 192))
    model["blocks.1.mlp.weight_scale"] = ("F32", [], struct.pack("<f", 0.5))
    write(source, pack(model, {"_quantization_metadata": json.dumps({"layers": {"blocks.2.mlp": {"format": "nvfp4"}}})}))
    out, _ = quantize(source, first, "--format", "w4a8")
    check("already quantized             3" in out, out)
    after, metadata = load(first)
    for name in ("blocks.1.mlp.weight", "blocks.1.mlp.weight_scale", "blocks.2.mlp.weight"):
        equal(after[name], model[name])
    equal(json.loads(metadata["_quantization_metadata"])["layers"]["blocks.2.mlp"], {"format": "nvfp4"})


def blocks_and_threads_do_not_matter(folder):
    source = big_model(os.path.join(folder, "m.safetensors"), 16)  # 8 million elements: several blocks
    targets = []
    for i, arguments in enumerate((["--threads", "1"], ["--threads", "2"], ["--threads", "0"])):
        targets.append(os.path.join(folder, "%d.safetensors" % i))
        quantize(source, targets[i], "--format", "w4a8", "--stochastic", "5", *arguments)
    check(same_file(targets[0], targets[1]) and same_file(targets[0], targets[2]))
    quantize(source, targets[1], "--format", "w4a8", "--stochastic", "6")
    check(not same_file(targets[0], targets[1]), "the seed has no effect")


def bounded_memory(folder):
    """Peak memory is that of a few blocks, whatever the file's size; its sparse zeros cost no disk."""
    size = 1 << 28
    header = json.dumps({"blocks.0.weight": {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": [0, size]}})
    source, target = os.path.join(folder, "m.safetensors"), os.path.join(folder, "q.safetensors")
    with open(source, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode())
        file.truncate(8 + len(header) + size)
    report_path = os.path.join(folder, "r.json")
    quantize(source, target, "--format", "int8", "--report", report_path)
    with open(report_path) as file:
        report = json.load(file)
    check(report["peak_memory_bytes"] < 200_000_000, report["peak_memory_bytes"])
    equal(report["layers"][0]["relative_error"], 0)
    # With a LoRA that would not fit either: 256 MB of zeros as well, of which rank 2 is used.
    rank, rows = 2, size // 8192
    parts = [("blocks.0.lora_up.weight", [rows, rank]), ("blocks.0.lora_down.weight", [rank, 4096]), ("x", [size // 4])]
    header, at = {}, 0
    for name, shape in parts:
        begin, at = at, at + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, at]}
    header = json.dumps(header).encode()
    lora = os.path.join(folder, "l.safetensors")
    with open(lora, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + at)
    quantize(source, target, "--format", "int8", "--lora", lora, "--report", report_path)
    with open(report_path) as file:
        report = json.load(file)
    check(report["peak_memory_bytes"] < 200_000_000, report["peak_memory_bytes"])
    equal(report["layers"][0]["loras"], 1)


def output_over_input(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    link, hard = os.path.join(folder, "link"), os.path.join(folder, "hard")
    os.symlink(source, link)
    os.link(source, hard)
    for target in (source, link, hard, os.path.join(folder, ".", "m.safetensors")):
        fails(4, "quantize", source, "-o", target, "--format", "w4a8", names=["is an input file"])
        fails(4, "dequantize", source, "-o", target, names=["is an input file"])
    fails(4, "quantize", link, "-o", source, "--format", "w4a8", names=["is an input file"])
    with open(source, "rb") as file:
        equal(file.read(), pack(small_model()))
    equal(sorted(os.listdir(folder)), ["hard", "link", "m.safetensors"])


def existing_output(folder):
    """An older output is replaced when all went well, and only then."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target = write(os.path.join(folder, "q.safetensors"), b"precious")
    broken = write(os.path.join(folder, "x.safetensors"), pack(small_model())[:-1])
    fails(3, "quantize", broken, "-o", target, "--format", "w4a8")
    with open(target, "rb") as file:
        equal(file.read(), b"precious")
    quantize(source, target, "--format", "w4a8")
    check(len(load(target)[0]) > 10)
    equal(len(os.listdir(folder)), 3)


def read_only_target(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target = write(os.path.join(folder, "q.safetensors"), b"precious")
    os.chmod(target, 0o444)
    fails(4, "quantize", source, "-o", target, "--format", "w4a8", names=["q.safetensors", "read-only"])
    fails(4, "quantize", source, "-o", folder, "--format", "w4a8", names=["is a directory"])
    fails(4, "quantize", source, "-o", os.path.join(folder, "none", "q"), "--format", "w4a8", names=["No such file"])
    fails(4, "quantize", source, "-o", "/dev/full", "--format", "w4a8", names=["not a regular file"])
    closed = os.path.join(folder, "closed")
    if os.geteuid() != 0:
        os.mkdir(closed, 0o555)
        fails(4, "quantize", source, "-o", os.path.join(closed, "q"), "--format", "w4a8", names=["Permission denied"])
        return
    with mounted(closed, "ro,size=1m"):
        fails(4, "quantize", source, "-o", os.path.join(closed, "q"), "--format", "w4a8", names=["Read-only file system"])


def full_disk(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    with mounted(os.path.join(folder, "small"), "size=8k") as small:
        target = os.path.join(small, "q.safetensors")
        fails(4, "quantize", source, "-o", target, "--format", "w4a8", names=["q.safetensors", "No space left"])
        fails(4, "dequantize", source, "-o", target, names=["q.safetensors", "No space left"])
        equal(os.listdir(small), [])


def size_limit(folder):
    """A write that fails half way: the limit on file sizes stands for whatever may go wrong with a disk."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target = os.path.join(folder, "q.safetensors")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))

    fails(4, "quantize", source, "-o", target, "--format", "w4a8", names=["q.safetensors", "File too large"], preexec_fn=limit)
    equal(os.listdir(folder), ["m.safetensors"])


def has_output(process, folder):
    """The process has an output open in the folder, under a hidden name or without one."""
    try:
        files = [os.readlink(e.path) for e in os.scandir("/proc/%d/fd" % process.pid)]
    except FileNotFoundError:  # a descriptor was closed meanwhile
        return False
    return any(f.startswith(folder + "/") for f in files)


def has_unnamed_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


def start_and_wait(folder, **options):
    """A long conversion, begun; its output is open."""
    source = big_model(os.path.join(folder, "m.safetensors"), 256)
    out = os.path.join(folder, "out")
    os.mkdir(out)
    process = subprocess.Popen([PROGRAM, "quantize", source, "-o", os.path.join(out, "q.safetensors"), "--format", "w4a8"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    deadline = time.monotonic() + 60
    while not has_output(process, out):
        check(time.monotonic() < deadline and process.poll() is None, "the conversion did not begin")
        time.sleep(0.001)
    time.sleep(0.05)
    check(process.poll() is None, "the conversion ended too early for this test")
    return process, out


def killed(folder):
    """Nothing is left where a file can be without a name, a hidden file elsewhere, and never the final name."""
    process, out = start_and_wait(folder)
    process.kill()
    process.wait()
    names = os.listdir(out)
    if has_unnamed_files(out):
        equal(names, [])
    check("q.safetensors" not in names, names)
    check(all(n.startswith(".ckitchen-") and n.endswith(".tmp") for n in names), names)


def interrupted(folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            process, out = start_and_wait(inner)
            process.send_signal(number)
            equal(process.wait(), -number, "died of something else")
            equal(os.listdir(out), [], number)


def report_file(folder):
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    out, _ = quantize(SAMPLE, target, "--format", "w4a8", "--report", report_path)
    with open(report_path) as file:
        report = json.load(file)
    equal(report["layer_count"], 2)
    for layer in report["layers"]:
        # A Gaussian weight is at 0.0725 to 0.0735; real ones lie close by.
        check(0.070 < layer["relative_error"] < 0.076, layer)
    equal({layer["k"]: layer["rotate_group"] for layer in report["layers"]}, {384: 64, 1536: 256})
    worst = max(report["layers"], key=lambda layer: layer["relative_error"])
    equal(report["relative_error_worst_tensor"], worst["tensor"])
    check(worst["tensor"] in out and "%.5f" % worst["relative_error"] in out, out)
    equal(report["file_bytes_out"], os.path.getsize(target))
    equal(len(report["kept"]), 5)
    reasons = {k["tensor"]: k["reason"] for k in report["kept"]}
    equal(reasons["embeddings.token_type_embeddings.weight"], "name")
    equal(reasons["encoder.layer.0.output.LayerNorm.weight"], "rank")
    # The report is an output like the other: never over an input, never over the checkpoint.
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    fails(4, "quantize", source, "-o", target, "--format", "w4a8", "--report", source, names=["is an input file"])
    fails(2, "quantize", source, "-o", target, "--format", "w4a8", "--report", target, names=["same file"])
    link, goal = os.path.join(folder, "link"), os.path.join(folder, "goal")
    os.symlink("goal", link)
    fails(2, "quantize", source, "-o", link, "--format", "w4a8", "--report", goal, names=["same file"])
    fails(4, "quantize", source, "-o", target, "--format", "w4a8", "--report", os.path.join(folder, "none", "r"))


def usage_errors(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target = os.path.join(folder, "q.safetensors")
    both = ["quantize", source, "-o", target]
    fails(2)
    fails(2, "fry", names=['no command "fry"', "quantize, dequantize, inspect, info, verify, bench"])
    fails(2, "fry" * 1000, names=['no command "fryfry', '..."'])
    fails(2, "quantize")
    fails(2, "quantize", source, "--format", "w4a8", names=["-o"])
    fails(2, *both)
    fails(2, *both, "--format", "int4", names=["int4"])
    fails(2, *both, "--format", "w4a8", "--rotate", "none", names=["--rotate none"])
    fails(2, *both, "--format", "w4a8", "--rotate", "32", names=["32"])
    fails(2, *both, "--format", "w4a8", "--group-size", "24", names=["24"])
    fails(2, *both, "--format", "w4a8", "--stochastic", "0", names=["none or a seed"])
    fails(2, *both, "--format", "w4a8", "--stochastic", "-1")
    fails(2, *both, "--format", "w4a8", "--stochastic", "18446744073709551616")
    fails(2, *both, "--format", "int8", "--stochastic", "1", names=["--stochastic"])
    fails(2, *both, "--format", "w4a8", "--levels", "log", names=["log"])
    for pattern, why in (("", "empty"), ("(", "Unmatched"), ("a)(b", "Unmatched"), ("[", "["), ("*a{", ""), ("(a)\\1", "back-ref"),
                         ("\\d+", "[0-9]"), ("[\\w.]", "[[:alnum:]_]"), ("(?:a)", ""), ("a" * 1001, "1001"),
                         ("((((a{99}){99}){99}){99}){99}", "repeats"), ("(" * 40 + "a" + "+)" * 40, "repeats")):
        line = fails(2, *both, "--format", "w4a8", "--include", pattern, names=["--include", '"' + pattern[:50], why])
        check(len(line) < 300, line)
    fails(2, *both, "--format", "int8", "--group-size", "16", names=["--group-size", "w4a8"])
    fails(2, *both, "--format", "int8", "--levels", "codebook", names=["--levels", "w4a8"])
    for command in (both + ["--format", "int8"], ["info"], ["verify"], ["bench"], ["dequantize", source, "-o", target]):
        fails(2, *command, "--device", "5", names=["--device 5", "--backend"])
    for seconds in ("nan", "-1", "inf", "3601"):
        fails(2, "bench", "--seconds", seconds, names=["seconds"])
    fails(2, *both, "--format", "w4a8", "--backend", "abacus", names=["abacus"])
    fails(2, *both, "--format", "w4a8", "--threads", "-1")
    fails(2, "quantize", source, "-o", "-", "--format", "w4a8", names=['"-"', "stdout"], cwd=folder)
    fails(2, *both, "--format", "w4a8", "--report", "-", names=['"-"', "stdout"], cwd=folder)
    fails(2, "verify", "rotate", "--seed", "-1", names=["--seed"])
    for given, told in ((), "seed 1\n"), (("--seed", "18446744073709551615"), "seed 18446744073709551615\n"):
        out, _ = run("verify", "rotate", "--count", "1", "--backend", "cpu", *given)
        check(told in out, told, out)
    for command in (["verify"], ["bench", "--seconds", "0"]):
        for problem, why in (("", "empty"), ("op=foo", "foo"), ("op=rotate rows=3 rows=4", "rows is given twice")):
            fails(2, *command, "--problem", problem, "--backend", "cpu", names=[why])
        nothing = "op=int8_gemm out_dtype=f32 m=0 n=1 k=1"
        check("(nothing to compute" in run(*command, "--problem", nothing, "--backend", "cpu")[0], command)
    fails(2, *both, "--format", "w4a8", "--frobnicate")
    fails(2, "dequantize", source, "-o", target, "--dtype", "f64", names=["f64"])
    fails(6, *both, "--format", "w4a8", "--device", "900", "--backend", "cpu", names=["cpu"])
    fails(6, *both, "--format", "w4a8", "--quiet", env=dict(os.environ, CKITCHEN_DISABLE="w4a8_requant"),
          names=["m.safetensors", '"blocks.0.attn.weight"', "CK_ERROR_OP_DISABLED"])
    # Wrong settings are told whatever backend is asked for, and the CPU is offered only where it would help.
    for variable, value in (("CKITCHEN_THREADS", "0"), ("CKITCHEN_HIP_LIBRARY", "/nonexistent.so")):
        line = fails(6, *both, "--format", "w4a8", env=dict(os.environ, **{variable: value}), names=[variable, value])
        check("here: --backend" not in line, line)
    equal(os.listdir(folder), ["m.safetensors"])
    quantize(source, target, "--format", "w4a8", "--stochastic", "18446744073709551615")


def scarce_resources(folder):
    """Whatever address space is left: done, or one line and status 8. The same where no thread can be started."""
    source = big_model(os.path.join(folder, "m.safetensors"), 16)
    target = os.path.join(folder, "q.safetensors")
    environment = dict(os.environ, MALLOC_ARENA_MAX="1")

    def attempt(limits):
        def limit():
            for kind, value in limits:
                resource.setrlimit(kind, (value, value))

        arguments = [PROGRAM, "quantize", source, "-o", target, "--format", "w4a8", "--backend", "cpu", "--quiet"]
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                              preexec_fn=limit, timeout=240)
        return done.returncode, done.stderr.decode()

    seen = set()
    for megabytes in [*range(24, 120, 4), *range(120, 400, 20), 1000]:
        status, err = attempt([(resource.RLIMIT_AS, megabytes << 20)])
        if status == 127 and not seen:
            continue  # the loader itself has too little
        seen.add(status)
        check(status in (0, 8), megabytes, status, err)
        check(status == 0 or (len(err.splitlines()) == 1 and err.startswith("ckitchen: error: ")), megabytes, err)
        equal(sorted(os.listdir(folder)), ["m.safetensors"] + (["q.safetensors"] if status == 0 else []), megabytes)
        if status == 0:
            os.unlink(target)
    equal(seen, {0, 8})
    # A thread's stack is as large as the limit says, and this one cannot be had.
    status, err = attempt([(resource.RLIMIT_STACK, 1 << 40), (resource.RLIMIT_AS, 1 << 32)])
    equal((status, err), (8, "ckitchen: error: the system gives no further thread\n"))


def broken_stdout(folder):
    """Every command notices that what it prints is lost."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target, quantized = os.path.join(folder, "q.safetensors"), os.path.join(folder, "q2.safetensors")
    quantize(source, quantized, "--format", "int8")
    problem = ["--problem", "op=rotate dtype=f32 rows=3 k=16 group=4", "--backend", "cpu"]
    for arguments in (["inspect", source], ["inspect", "--json", source], ["--help"], ["--version"], ["bench", "--help"],
                      ["info"], ["info", "--json"], ["verify", *problem], ["verify", "rotate", "--count", "1"],
                      ["bench", *problem, "--seconds", "0"], ["bench", *problem, "--seconds", "0", "--json"],
                      ["quantize", source, "-o", target, "--format", "int8", "-q"], ["dequantize", quantized, "-o", target],
                      ["quantize", source, "--dry-run", "--format", "int8"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=240)
        equal(done.returncode, 4, arguments, done.stderr)
        check(b"ckitchen: error: cannot write to stdout: No space left on device" in done.stderr, arguments, done.stderr)
        if arguments[-1] in ("-q", target):  # the output itself is not what is missing
            check(b"q.safetensors was written and is complete" in done.stderr, arguments, done.stderr)
            run("inspect", target)


def file_mode(folder):
    """A new output has the mode that the umask leaves, a replaced one keeps its own."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    for mask in (0o022, 0o077):
        arguments = ["--format", "int8", "--report", report_path]
        quantize(source, target, *arguments, preexec_fn=lambda: os.umask(mask))
        for path in (target, report_path):
            equal(os.stat(path).st_mode & 0o7777, 0o666 & ~mask, path)
            os.chmod(path, 0o640)
        quantize(source, target, *arguments, preexec_fn=lambda: os.umask(mask))
        for path in (target, report_path):
            equal(os.stat(path).st_mode & 0o7777, 0o640, path)
            os.unlink(path)


def broken_metadata(folder):
    """Metadata that is not what it should be makes no file unreadable: the marker tensors are enough."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    good, bad, back = (os.path.join(folder, n + ".safetensors") for n in ("good", "bad", "back"))
    quantize(source, good, "--format", "w4a8")
    tensors, _ = load(good)
    for text in ("[", "[]", '{"layers":[]}', "\\u0000", '{"layers":{},"layers":{}}', "[" * 100_000):
        write(bad, pack(tensors, {"_quantization_metadata": text}))
        warning = "bad.safetensors: metadata _quantization_metadata "
        out, err = run("inspect", bad)
        check("blocks.0.attn: asym_w4a8_int8 [24, 256]" in out, out)
        equal(len(err.splitlines()), 1, err)
        check(warning in err, err)
        equal(len(json.loads(run("inspect", "--json", bad)[0])["layers"]), 3)
        out, err = run("dequantize", bad, "-o", back, "-q")
        check("decoded 3 layers" in out and warning in err and len(err.splitlines()) == 1, out, err)
        out, err = quantize(bad, back, "--format", "int8", "-q")
        check("quantized 0 layers" in out and warning in err and len(err.splitlines()) == 2, out, err)
        check(err.endswith(": no tensor can be quantized, all are kept\n"), err)
        check(warning in run("quantize", bad, "--format", "int8", "--dry-run")[1])


def stray_scale(folder):
    """A float weight beside a scale, without a marker: kept, and said so."""
    model = small_model()
    model["blocks.1.mlp.weight_scale"] = ("F32", [], struct.pack("<f", 0.5))
    source = write(os.path.join(folder, "m.safetensors"), pack(model))
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    out, err = quantize(source, target, "--format", "int8", "--report", report_path, "-q")
    equal(len(err.splitlines()), 1, err)
    check('tensor "blocks.1.mlp.weight" is kept as it is' in err and "no marker" in err, err)
    check(["quantized", "or", "not:", "no", "marker", "2"] in [l.split()[:6] for l in out.splitlines()] and "quantized 2 layers" in out, out)
    with open(report_path) as file:
        equal({k["tensor"]: k["reason"] for k in json.load(file)["kept"]}["blocks.1.mlp.weight"], "unmarked")
    after, _ = load(target)
    for name in ("blocks.1.mlp.weight", "blocks.1.mlp.weight_scale"):
        equal(after[name], model[name])
    # It is a float as it is: nothing is left undecoded.
    _, err = run("dequantize", source, "-o", target)
    check('layer "blocks.1.mlp" is kept as it is' in err, err)
    model["blocks.1.mlp.weight"] = ("I8", model["blocks.1.mlp.weight"][1], bytes(16 * 192))
    write(source, pack(model))
    _, err = run("dequantize", source, "-o", target, status=5)
    check('layer "blocks.1.mlp" is kept as it is' in err, err)


def evil_patterns(folder):
    """No pattern makes the program think for long about long names."""
    generator = random.Random(1)
    names = ["a" * 1000 + ".weight", "".join(generator.choice("ab") for _ in range(1000)) + ".weight", "ab" * 500 + "!.weight"]
    source = write(os.path.join(folder, "m.safetensors"), pack({n: ("F32", [1, 16], bytes(64)) for n in names}))
    for pattern in ("(a+)+$", "(a|aa)+b$", "(.*)*x", "(a|b)*a(a|b){200}c", "((a*)*)*!$", "(x+x+)+y", ".*.*.*.*.*.*=", "^(a?){100}a{100}b"):
        start = time.monotonic()
        run("quantize", source, "--format", "int8", "--dry-run", "--exclude", pattern)
        check(time.monotonic() - start < 10, pattern, time.monotonic() - start)
    out, _ = run("quantize", source, "--format", "int8", "--dry-run", "--exclude", "^(ab)+!", "--exclude", "^a+\\.weight$")
    equal(out.count("excluded by --exclude"), 2, out)


def progress_bar(folder):
    """A bar with rate and time left on a terminal, plain lines elsewhere, nothing when asked."""
    source, target = big_model(os.path.join(folder, "m.safetensors"), 64), os.path.join(folder, "q.safetensors")
    arguments = [PROGRAM, "quantize", source, "-o", target, "--format", "w4a8"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=follower, env=dict(os.environ, TERM="xterm"))
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # how the end of a pseudo-terminal shows
        while piece := os.read(leader, 4096):
            shown += piece
    os.close(leader)
    equal(process.wait(), 0)
    bars = [bar for bar in shown.split(b"\r") if b"MB/s" in bar]
    check(len(bars) > 1, shown)
    check(all(b"% [" in bar and b" left" in bar and b"blocks." in bar for bar in bars), shown)
    check(shown.endswith(b"\r\x1b[K"), "the bar was not cleared:", shown[-80:])
    _, err = run(*arguments[1:])
    equal(len(err.splitlines()), 4)
    check("4/4 blocks.3.weight BF16 [2048, 4096] error 0.0" in err and "\r" not in err, err)
    equal(run(*arguments[1:], "--quiet")[1], "")


# ---------------------------------------------------------------------------------------------------------
# LoRA: every operation rounded to float32. A product or a sum of two float32 numbers that is rounded to float64
# first comes to the same float32.


def f32(value):
    return array.array("f", [value])[0]


def merged(weight, n, k, up, down, alpha, strength):
    """weight [n, k] + strength * (alpha / rank) * up [n, rank] down [rank, k], lists of floats that are float32."""
    rank = len(up) // n
    equal(len(down), rank * k)
    factor = f32(f32(strength) * f32((rank if alpha is None else alpha) / rank))
    out = array.array("f")
    for i in range(n):
        product = array.array("f", bytes(4 * k))
        for r in range(rank):
            u, row = up[i * rank + r], down[r * k : (r + 1) * k]
            terms = array.array("f", (u * d for d in row))
            product = array.array("f", (p + t for p, t in zip(product, terms)))
        scaled = array.array("f", (factor * p for p in product))
        out.extend(array.array("f", (w + s for w, s in zip(weight[i * k : (i + 1) * k], scaled))))
    return out


def encode(dtype, values):
    if dtype == "F32":
        return array.array("f", values).tobytes()
    return struct.pack("<%de" % len(values), *values) if dtype == "F16" else bf16(array.array("f", values))


def pair(prefix, n, k, rank, seed, dtype="F32", alpha=None, names=("lora_up", "lora_down"), sigma=0.05):
    """The tensors of one module, and up, down and alpha as numbers."""
    up = floats(dtype, encode(dtype, gauss(n * rank, seed, sigma)))
    down = floats(dtype, encode(dtype, gauss(rank * k, seed + 1, sigma)))
    tensors = {
        "%s.%s.weight" % (prefix, names[0]): (dtype, [n, rank], encode(dtype, up)),
        "%s.%s.weight" % (prefix, names[1]): (dtype, [rank, k], encode(dtype, down)),
    }
    if alpha is not None:
        tensors[prefix + ".alpha"] = ("F32", [], struct.pack("<f", alpha))
    return tensors, (up, down, alpha)


def lora_model():
    """small_model() under a loader's prefix, with a matrix that is kept."""
    model = {"model.diffusion_model." + name: tensor for name, tensor in small_model().items()}
    model["model.diffusion_model.txt_in.weight"] = ("F16", [5, 16], encode("F16", gauss(80, 20)))
    return model


def lora_merge(folder):
    """Merging by the program equals merging here and quantizing the float32 sums."""
    source = write(os.path.join(folder, "m.safetensors"), pack(lora_model(), {"format": "pt"}))
    top = "model.diffusion_model."
    modules = [  # file, layer, prefix in the file, rank, dtype, alpha, spelling
        (0, "blocks.0.attn", "diffusion_model.blocks.0.attn", 5, "F32", 2.0, ("lora_up", "lora_down")),
        (0, "blocks.1.mlp", "lora_unet_blocks_1_mlp", 4, "BF16", None, ("lora_up", "lora_down")),
        (0, "img_in", "transformer.img_in", 2, "F32", 1.0, ("lora_B", "lora_A")),
        (0, "narrow", "lycoris_narrow", 3, "F32", 1.5, ("lora_up", "lora_down")),
        (1, "blocks.0.attn", "blocks.0.attn", 9, "F16", 9.0, ("lora_B", "lora_A")),
        (1, "txt_in", top + "txt_in", 3, "F32", 3.5, ("lora_B", "lora_A")),
        (1, "narrow", "base_model.model.narrow", 1, "F32", None, ("lora_B", "lora_A")),
    ]
    strengths = [0.7, -1.25]
    before, files = lora_model(), [{}, {}]
    sums = {}
    for seed, (file, layer, prefix, rank, dtype, alpha, names) in enumerate(modules):
        name = top + layer + ".weight"
        weight_dtype, (n, k), raw = before[name]
        tensors, (up, down, alpha) = pair(prefix, n, k, rank, 100 + 2 * seed, dtype, alpha, names, 0.2)
        files[file].update(tensors)
        sums[name] = merged(sums.get(name, floats(weight_dtype, raw)), n, k, up, down, alpha, strengths[file])
    paths = [write(os.path.join(folder, "lora%d.safetensors" % i), pack(f)) for i, f in enumerate(files)]
    options = ["--lora", paths[0] + ":0.7", "--lora", paths[1] + ":-1.25"]
    merged_model, expected_kept = dict(before), {}
    for name, values in sums.items():
        dtype, shape, _ = before[name]
        if name[len(top) : -len(".weight")] in LAYERS:
            merged_model[name] = ("F32", shape, values.tobytes())
        else:
            merged_model[name] = (dtype, shape, encode(dtype, values))
            check(merged_model[name] != before[name], "the LoRA changes nothing in", name)
            expected_kept[name] = merged_model[name]
    equal(len(expected_kept), 3)
    premerged = write(os.path.join(folder, "p.safetensors"), pack(merged_model, {"format": "pt"}))
    a, b = os.path.join(folder, "a.safetensors"), os.path.join(folder, "b.safetensors")
    for arguments, seed in ((["--format", "w4a8"], "1"), (["--format", "w4a8", "--stochastic", "7"], "7"),
                            (["--format", "w4a8", "--levels", "uniform"], "1"), (["--format", "int8"], None)):
        reports = [os.path.join(folder, "ra.json"), os.path.join(folder, "rb.json")]
        _, err = quantize(source, a, *arguments, *options, "--report", reports[0])
        check("not merged" not in err, err)
        plain = [x for x in arguments if x not in ("--stochastic", "7")] + (["--stochastic", seed] if seed else [])
        quantize(premerged, b, *plain, "--report", reports[1])
        check(same_file(a, b), arguments)
        after, metadata = load(a)
        for name, tensor in expected_kept.items():
            equal(after[name], tensor, name)
        errors = []
        for path in reports:
            with open(path) as file:
                errors.append({layer["tensor"]: layer["relative_error"] for layer in json.load(file)["layers"]})
        equal(errors[0], errors[1])
        name = top + "blocks.0.attn"
        marker = json.loads(metadata["_quantization_metadata"])["layers"][name]
        error = relative_error(sums[name + ".weight"], decode(after, name, marker))
        check(abs(error - errors[0][name + ".weight"]) < 1e-4 * error, error, errors)
        with open(reports[0]) as file:
            report = json.load(file)
        equal([(l["file"], round(l["strength"], 6), l["merged_tensors"]) for l in report["loras"]],
              [(paths[0], 0.7, 4), (paths[1], -1.25, 3)])
        equal(report["loras_unused"], [])
        equal({l["tensor"]: l.get("loras", 0) for l in report["layers"]},
              {top + "blocks.0.attn.weight": 2, top + "blocks.1.mlp.weight": 1, top + "blocks.2.mlp.weight": 0})
        equal(sorted(k["tensor"] for k in report["kept"] if k.get("loras")), sorted(expected_kept))
    # The order of the files is the order of the sums.
    name = top + "narrow.weight"
    values = floats(*before[name][::2])
    for file, alpha, prefix, names in ((1, None, "base_model.model.narrow", ("lora_B", "lora_A")),
                                       (0, 1.5, "lycoris_narrow", ("lora_up", "lora_down"))):
        up, down = (floats("F32", files[file]["%s.%s.weight" % (prefix, half)][2]) for half in names)
        values = merged(values, 4, 20, up, down, alpha, strengths[file])
    quantize(source, b, "--format", "int8", *options[2:], *options[:2])
    equal(load(b)[0][name][2], values.tobytes())
    check(values.tobytes() != expected_kept[name][2], "the order makes no difference")
    # The strength is 1 unless given; at 0 the weights stay what they are.
    quantize(source, a, "--format", "int8", "--lora", paths[0])
    quantize(source, b, "--format", "int8", "--lora", paths[0] + ":1.0")
    check(same_file(a, b))
    quantize(source, a, "--format", "int8", "--lora", paths[0] + ":0")
    equal(load(a)[0][name], before[name])

    # More than one block, and a codebook from a sample of the rows, which heavy tails under the rotation keep from
    # being the default one. Most rows of up are zero, which changes nothing.
    n, k = 1100, 4096
    heavy = [[value * abs(value) * value for value in gauss(k, 30 + i, 0.4)] for i in range(10)]
    ten_rows = bf16(array.array("f", (value for row in heavy for value in rotate(row, 256))))
    weight = floats("BF16", ten_rows * (n // 10))
    tensors, (up, down, alpha) = pair("a", n, k, 2, 50, "BF16", 1.0)
    touched = (0, 1, 500, 1023, 1024, 1099)
    up = [value if i // 2 in touched else 0.0 for i, value in enumerate(up)]
    tensors["a.lora_up.weight"] = ("BF16", [n, 2], encode("BF16", up))
    total = array.array("f", weight)
    for i in touched:
        rows = slice(i * k, (i + 1) * k)
        total[rows] = merged(weight[rows], 1, k, up[2 * i : 2 * i + 2], down, alpha, 1.0)
    write(source, pack({"a.weight": ("BF16", [n, k], encode("BF16", weight))}))
    write(premerged, pack({"a.weight": ("F32", [n, k], total.tobytes())}))
    lora = write(paths[0], pack(tensors))
    report_path = os.path.join(folder, "r.json")
    quantize(premerged, b, "--format", "w4a8", "--stochastic", "1", "--report", report_path)
    with open(report_path) as file:
        equal(json.load(file)["layers"][0]["default_codebook"], False)
    for threads in ("1", "3"):
        quantize(source, a, "--format", "w4a8", "--lora", lora, "--threads", threads)
        check(same_file(a, b), threads)
    quantize(source, a, "--format", "w4a8", "--lora", lora, "--stochastic", "none")
    quantize(premerged, b, "--format", "w4a8")
    check(same_file(a, b), "rounded to nearest")


def lora_report(folder):
    """What changes nothing is named on stderr and in the report; a tensor with NaN is merged but not quantized."""
    model = small_model()
    values = gauss(24 * 256, 1)
    values[300] = float("nan")
    model["blocks.0.attn.weight"] = ("F32", [24, 256], values.tobytes())
    model["fp8.weight"] = ("F8_E4M3", [2, 16], bytes(32))
    source = write(os.path.join(folder, "m.safetensors"), pack(model))
    tensors, (up, down, alpha) = pair("blocks.0.attn", 24, 256, 3, 1, alpha=1.0)
    for prefix, n, k in (("blocks.9.attn", 4, 16), ("lora_te_mlp", 4, 16), ("fp8", 2, 16), ("conv", 2, 16)):
        tensors.update(pair(prefix, n, k, 2, 3)[0])
    tensors["blocks.0.attn.diff_b"] = ("F32", [24], bytes(96))
    lora = write(os.path.join(folder, "l.safetensors"), pack(tensors))
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    reasons = {"blocks.9.attn": "no layer", "lora_te_mlp": "no layer", "fp8": "is F8_E4M3", "conv": "not a matrix"}

    def check_named(text):
        for prefix, reason in reasons.items():
            lines = [l for l in text.splitlines() if '"%s.lora_up.weight", "%s.lora_down.weight"' % (prefix, prefix) in l]
            equal(len(lines), 1, prefix, text)
            check("l.safetensors" in lines[0] and reason in lines[0], lines[0])
        check('"blocks.0.attn.diff_b": not merged: not part of a LoRA pair' in text, text)

    out, err = quantize(source, target, "--format", "w4a8", "--lora", lora, "--report", report_path, "--quiet", status=5)
    check_named(out)
    check_named(err)
    check("strength 1: merged into 1 tensor\n" in out, out)
    check("it is kept unquantized" in err, err)
    with open(report_path) as file:
        report = json.load(file)
    equal(len(report["loras_unused"]), 5)
    equal(report["loras_unused"][1]["tensors"], ["blocks.9.attn.lora_up.weight", "blocks.9.attn.lora_down.weight"])
    equal(report["seed"], 1)
    after, _ = load(target)
    got = floats(*after["blocks.0.attn.weight"][::2])
    expected = merged(values, 24, 256, up, down, alpha, 1.0)
    check(math.isnan(got[300]) and math.isnan(expected[300]))
    equal(got[:300] + got[301:], list(expected[:300]) + list(expected[301:]))
    for name in ("fp8.weight", "conv.weight", "img_in.weight", "blocks.0.attn.bias"):
        equal(after[name], model[name])
    out, err = run("quantize", source, "--format", "w4a8", "--lora", lora, "--dry-run")
    check_named(out)
    check_named(err)
    check("blocks.0.attn.weight: quantize asym_w4a8_int8, rotation 256, merge 1 LoRA\n" in out, out)
    # An already quantized layer cannot be merged into. A file of which nothing can be merged is an error.
    quantize(write(source, pack(small_model())), target, "--format", "int8")
    tensors.update(pair("narrow", 4, 20, 2, 3)[0])
    write(lora, pack(tensors))
    second = os.path.join(folder, "2.safetensors")
    _, err = quantize(target, second, "--format", "w4a8", "--lora", lora)
    check('tensor "blocks.0.attn.weight" is quantized already' in err, err)
    equal(load(second)[0]["blocks.0.attn.weight"], load(target)[0]["blocks.0.attn.weight"])
    write(lora, pack(pair("blocks.0.attn", 24, 256, 3, 1)[0]))
    os.unlink(second)
    for arguments in (["-o", second], ["--dry-run"]):
        fails(3, "quantize", target, *arguments, "--format", "w4a8", "--lora", lora,
              names=["l.safetensors", '"blocks.0.attn.weight" is quantized already', "none can be merged"])
    check(not os.path.exists(second))


def unused_patterns(folder):
    """A pattern that finds no name, and a conversion that quantizes nothing, are told on stderr and in the reports."""
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target, report_path = os.path.join(folder, "q.safetensors"), os.path.join(folder, "r.json")
    arguments = ["--format", "w4a8", "--include", "^img_in", "--exclude", "no_such_layer", "--include", "^$", "--exclude", "odd"]
    lines = ['--include "^$": finds no tensor\'s name', '--exclude "no_such_layer": finds no tensor\'s name']
    for more in (["-o", target, "--report", report_path, "-q"], ["--dry-run"]):
        out, err = run("quantize", source, *arguments, *more)
        equal(err.splitlines(), lines)
        check("\n".join(lines) in out, out)
    with open(report_path) as file:
        equal(json.load(file)["patterns_unused"],
              [{"option": "--include", "pattern": "^$"}, {"option": "--exclude", "pattern": "no_such_layer"}])
    quantize(source, target, "--format", "w4a8", "--report", report_path, "--exclude", "odd")
    with open(report_path) as file:
        check("patterns_unused" not in json.load(file))
    for arguments in (["--group-size", "512"], ["--exclude", "."]):
        _, err = quantize(source, target, "--format", "w4a8", "-q", *arguments)
        equal(err, source + ": no tensor can be quantized, all are kept\n")
        equal(load(target)[0], small_model())


def lora_errors(folder):
    source = write(os.path.join(folder, "m.safetensors"), pack(small_model()))
    target = os.path.join(folder, "q.safetensors")
    layer = "blocks.0.attn"
    up, down = layer + ".lora_up.weight", layer + ".lora_down.weight"
    good = pair(layer, 24, 256, 4, 1, alpha=4.0)[0]
    path = os.path.join(folder, "l.safetensors")

    def with_value(name, value):
        dtype, shape, raw = good[name]
        return dict(good, **{name: (dtype, shape, raw[:-4] + struct.pack("<f", value))})

    broken = [  # the file, the tensor in the text, what else is in it, whether values have to be read
        ({n: t for n, t in good.items() if n != down}, up, [down, "missing"], False),
        ({n: t for n, t in good.items() if n != up}, down, [up, "missing"], False),
        (dict(good, **pair(layer, 24, 256, 4, 1, names=("lora_B", "lora_A"))[0]), layer, ["is a second"], False),
        ({layer + ".alpha": good[layer + ".alpha"]}, "lora_up", ["has no pair"], False),
        (small_model(), "lora_up", ["has no pair"], False),
        (pair(layer, 24, 240, 4, 1)[0], down, ["[4, 240]", "[rank, 256]"], False),
        (pair(layer, 23, 256, 4, 1)[0], up, ["[23, 4]", "[24, 4]"], False),
        (dict(good, **{up: ("F32", [24, 3], bytes(288))}), up, ["[24, 3]", "[24, 4]"], False),
        (dict(good, **{down: ("F32", [4, 16, 16], bytes(4096))}), down, ["[4, 16, 16]", "matrix"], False),
        (dict(good, **{up: ("F32", [24, 0], b""), down: ("F32", [0, 256], b"")}), down, ["[0, 256]"], False),
        (dict(good, **{up: ("I8", [24, 4], bytes(96))}), up, ["I8", "F32, F16 or BF16"], False),
        (dict(good, **{down: ("F64", [4, 256], bytes(8192))}), down, ["F64"], False),
        (dict(good, **{layer + ".alpha": ("U8", [], b"1")}), layer + ".alpha", ["U8"], False),
        (dict(good, **{layer + ".alpha": ("F32", [2], bytes(8))}), layer + ".alpha", ["[2]", "one number"], False),
        (dict(good, **{layer + ".dora_scale": ("F32", [24], bytes(96))}), layer + ".dora_scale", ["another method"], False),
        (dict(good, **pair("diffusion_model." + layer, 24, 256, 2, 1)[0]), layer, ["both change layer"], False),
        (with_value(up, math.nan), up, ["NaN"], True),
        (with_value(down, math.inf), down, ["infinite"], True),
        (with_value(layer + ".alpha", math.nan), layer + ".alpha", ["not finite"], True),
    ]
    for tensors, name, parts, is_value in broken:
        write(path, pack(tensors))
        fails(3, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path, names=[path, name, *parts])
        if not is_value:
            fails(3, "quantize", source, "--dry-run", "--format", "int8", "--lora", path, names=[path, name, *parts])
        equal(sorted(os.listdir(folder)), ["l.safetensors", "m.safetensors"])
    write(path, pack(good)[:-1])
    fails(3, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path, names=[path])
    fails(3, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path + "x", names=[path + "x", "No such file"])
    write(path, pack(good))
    fails(2, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path + ":much", names=["--lora", '"much"'])
    for strength in ("nan", "inf", "1e-50", "1e39", "0x1p-3"):
        fails(2, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path + ":" + strength,
              names=['"%s"' % strength, "decimal number that float32 holds"])
    fails(2, "quantize", source, "-o", target, "--format", "w4a8", "--lora")
    # A sum that W4A8 or the dtype cannot hold is the LoRA's fault, not the tensor's.
    for format_name, strength in (("w4a8", "1e38"), ("int8", "3e38")):
        write(path, pack(with_value(up, 1e10)))
        _, err = run("quantize", source, "-o", target, "--format", format_name, "--lora", path + ":" + strength, "--quiet",
                     status=3)
        equal(len(err.splitlines()), 1, err)
        check(all(part in err for part in ("m.safetensors", path, '"blocks.0.attn.weight"', "not finite")), err)
    # The LoRA is an input: neither output may replace it.
    write(path, pack(good))
    fails(4, "quantize", source, "-o", path, "--format", "w4a8", "--lora", path, names=["is an input file"])
    fails(4, "quantize", source, "-o", target, "--format", "w4a8", "--lora", path, "--report", path, names=["is an input file"])
    # Two layers that underscores do not tell apart.
    write(source, pack({"a.b_c.weight": ("F32", [1, 16], bytes(64)), "a_b.c.weight": ("F32", [1, 16], bytes(64))}))
    write(path, pack(pair("lora_unet_a_b_c", 1, 16, 1, 1)[0]))
    fails(3, "quantize", source, "-o", target, "--format", "int8", "--lora", path, names=['"a.b_c"', '"a_b.c"'])


def synthetic_checkpoint(folder):
    """The file that measurements of conversions are made with is what it says."""
    script = os.path.join(os.path.dirname(SAMPLE), "..", "..", "tools", "bench", "make_checkpoint.py")
    source, target = os.path.join(folder, "m.safetensors"), os.path.join(folder, "q.safetensors")
    subprocess.run([sys.executable, script, source, "--gigabytes", "0.004", "--hidden", "128", "--ffn", "352"], check=True,
                   stdout=subprocess.DEVNULL, timeout=60)
    tensors, metadata = load(source)
    equal(metadata, {"format": "pt"})
    check(3.5e6 < os.path.getsize(source) < 4.5e6, os.path.getsize(source))
    values = floats(*tensors["blocks.1.ffn.2.weight"][::2])
    mean = sum(values) / len(values)
    check(abs(mean) < 1e-3 and abs(math.sqrt(sum(v * v for v in values) / len(values)) - 0.03) < 1e-3)
    out, _ = quantize(source, target, "--format", "w4a8", "-q")
    check("quantized 90 layers" in out, out)


def gpu_equals_cpu(folder):
    """The GPU of the environment writes the same file and reports the same errors as the CPU; its failures are told."""
    model = small_model()
    for i, (n, k, dtype) in enumerate(((33, 272, "BF16"), (1, 16, "F32"), (7, 1040, "F16"), (130, 320, "BF16"), (3, 4112, "F32"))):
        values = [v * abs(v) * 400 for v in gauss(n * k, 40 + i)]  # heavy tails: codebooks of their own
        rows = [rotate(values[r * k : r * k + k], 64 if k % 64 == 0 else 16) for r in range(n)]
        flat = array.array("f", (v for row in rows for v in row))
        model["odd.%d.weight" % i] = (dtype, [n, k], encode(dtype, flat))
    values = gauss(24 * 256, 1)
    values[300] = float("nan")
    model["broken.weight"] = ("F32", [24, 256], values.tobytes())
    source = write(os.path.join(folder, "m.safetensors"), pack(model, {"format": "pt"}))
    lora = write(os.path.join(folder, "l.safetensors"), pack(pair("odd.3", 130, 320, 4, 9)[0]))
    cpu, gpu, report_path = (os.path.join(folder, n) for n in ("c.safetensors", "g.safetensors", "r.json"))
    fitted = 0
    for arguments in (["--format", "w4a8"], ["--format", "w4a8", "--stochastic", "9", "--group-size", "8"],
                      ["--format", "w4a8", "--levels", "uniform"], ["--format", "w4a8", "--lora", lora],
                      ["--format", "int8"], ["--format", "int8", "--rotate", "none", "--lora", lora]):
        layers = []
        for backend, target in (("cpu", cpu), ("hip", gpu)):
            out, _ = quantize(source, target, "--backend", backend, "--report", report_path, *arguments, status=5)
            with open(report_path) as file:
                report = json.load(file)
            layers.append(report["layers"])
            equal(report["backend"], backend)
            equal("device_idle_share" in report, backend == "hip")
            equal(" % of the time)" in out, backend == "hip", out)
        check(same_file(cpu, gpu), arguments)
        equal(layers[0], layers[1], arguments)
        check(0 <= report["device_idle_share"] < 1 and 0 < report["device_seconds"] <= report["seconds"], report)
        check(report["gigabytes_per_second"] > 0, report)
        fitted += sum(layer.get("default_codebook") is False for layer in layers[0])
    check(fitted > 0, "no codebook was fitted")
    # Back to floats, a layer of several blocks among them.
    quantized = os.path.join(folder, "q.safetensors")
    model["long.weight"] = ("BF16", [2050, 1024], bf16(gauss(41 * 1024, 3)) * 50)
    write(source, pack(model, {"format": "pt"}))
    for arguments in (["--format", "w4a8"], ["--format", "int8", "--rotate", "none"], ["--format", "int8"]):
        quantize(source, quantized, "-q", *arguments, status=5)
        for name in ("f32", "f16", "bf16") if "none" in arguments else ("f32", "bf16"):
            for backend, target in (("cpu", cpu), ("hip", gpu)):
                run("dequantize", quantized, "-o", target, "--backend", backend, "--dtype", name, "-q")
            check(same_file(cpu, gpu), arguments, name)
    os.unlink(cpu)
    for fault, status, text in (("oom@1+", 8, "CK_ERROR_OUT_OF_MEMORY"), ("launch@1+", 6, "CK_ERROR_"), ("lost@2", 6, "CK_ERROR_")):
        fails(status, "dequantize", quantized, "-o", cpu, "--backend", "hip", "-q", names=[text], env=dict(os.environ, GFXSIM_FAULT=fault))
        check(not os.path.exists(cpu), fault)
    os.unlink(quantized)
    os.unlink(gpu)
    os.unlink(report_path)
    for fault, status, text in (("oom@1+", 8, "CK_ERROR_OUT_OF_MEMORY"), ("oom@9+", 8, "CK_ERROR_OUT_OF_MEMORY"),
                                ("launch@3+", 6, "CK_ERROR_"), ("lost@4", 6, "CK_ERROR_")):
        fails(status, "quantize", source, "-o", gpu, "--format", "w4a8", "--backend", "hip", "-q", names=[text],
              env=dict(os.environ, GFXSIM_FAULT=fault))
        equal(sorted(os.listdir(folder)), ["l.safetensors", "m.safetensors"], fault)
    # A device that fails is no wrong result.
    for fault in ({"GFXSIM_FAULT": "launch@1"}, {"GFXSIM_FAULT": "lost@1"}, {"GFXSIM_FAULT": "lost@2"}, {"GFXSIM_LIMIT": "10"}):
        _, err = run("verify", "rotate", "--count", "3", "--backend", "hip", status=6, env=dict(os.environ, GFXSIM_REPORT=os.devnull, **fault))
        equal(len(err.splitlines()), 1, err)
        check("op=rotate " in err and "CK_ERROR_D" in err and "must be" not in err, fault, err)
    # The one GPU that is there cannot be used: the text says what this program offers instead.
    fails(6, "quantize", source, "-o", gpu, "--format", "w4a8", names=["--backend cpu", "gfx1170"],
          env=dict(os.environ, GFXSIM_DEVICES="idle:gfx1170"))
    for command in (["bench", "rotate", "--seconds", "0"], ["verify", "rotate", "--count", "1"]):
        _, err = run(*command, "--backend", "hip", status=8, env=dict(os.environ, GFXSIM_FAULT="oom@1+"))
        equal(len(err.splitlines()), 1, err)
        check("op=rotate " in err and "CK_ERROR_OUT_OF_MEMORY" in err, err)


CASES = [broken_files, info_and_help, inspect_reports_layers, dry_run, w4a8_layout, int8_layout, round_trip,
         sharded_equals_single, non_finite_is_kept, already_quantized, blocks_and_threads_do_not_matter, bounded_memory,
         output_over_input, existing_output, read_only_target, full_disk, size_limit, killed, interrupted, report_file,
         usage_errors, scarce_resources, broken_stdout, file_mode, broken_metadata, stray_scale, evil_patterns, progress_bar, lora_merge, lora_report,
         unused_patterns, lora_errors, synthetic_checkpoint,
         gpu_equals_cpu]


def main():
    case = next(c for c in CASES if c.__name__ == CASE)
    with tempfile.TemporaryDirectory(prefix="ckitchen-cli-") as folder:
        try:
            case(folder)
        except Skip as reason:
            print("skipped:", reason)
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
