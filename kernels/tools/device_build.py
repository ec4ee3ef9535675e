#!/usr/bin/env python3
"""Builds device code: compiles one source for one target, links a target's code object, embeds all of them.

A build of all targets is many small steps that CMake schedules; each is one call of this script. Compiled files are
kept in a cache whose key is the preprocessed source, the flags and the compiler's version, so that a fresh build
directory costs seconds.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

from elf import CodeObject

CODE_FLAGS = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-fast-math"]
COMMON_FLAGS = CODE_FLAGS + ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# For compilers of a runtime, whose default differs by release: pairs of compute units share local memory.
RUNTIME_COMPILER_FLAGS = CODE_FLAGS + ["-mno-cumode"]
ELF_ABI_VERSION = 2  # code object version 4
METADATA = re.compile(r"^\t\.amdgpu_metadata\n(.*?)^\t\.end_amdgpu_metadata\n", re.S | re.M)
KERNEL_LIST = re.compile(r"^---\namdhsa\.kernels:\n(.*?)^amdhsa\.target:", re.S | re.M)


def fail(text):
    sys.exit("device_build: " + text)


def run(command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if result.returncode != 0:
        sys.stderr.buffer.write(result.stderr)
        fail(f"status {result.returncode} from {' '.join(command)}")
    sys.stderr.buffer.write(result.stderr)
    return result.stdout


def write_whole(path, data):
    """Writes a file so that no other process sees a part of it."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(path)), delete=False) as file:
        file.write(data)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def write_depfile(args, files):
    names = " ".join(name.replace(" ", "\\ ") for name in files)
    write_whole(args.depfile, f"{args.output}: {names}\n".encode())


def load_arch(path):
    with open(path, encoding="utf-8") as file:
        arch = json.load(file)
    targets = {}
    for kind, key in (("elf", "amdgpu"), ("ptx", "ptx")):
        for target in arch[key]:
            unknown = [name for name in target["features"] if name not in arch["features"]]
            if unknown:
                fail(f"{path}: target {target['name']} names the undeclared feature {unknown[0]}")
            targets[target["name"]] = dict(target, kind=kind)
    for target in targets.values():
        if target["kind"] == "elf":
            target["class_vgprs"] = min(other["vgprs_per_simd"] for other in targets.values()
                                        if other.get("code_class") == target["code_class"])
    return arch, targets


def find_target(path, name):
    targets = load_arch(path)[1]
    if name not in targets:
        fail(f"{path} has no target {name}; it has {', '.join(targets)}")
    return targets[name]


def kernel_rows(kernels, op):
    """The rows of <op>.inc as (name, feature): the first two arguments of every CK_..._ROW line."""
    path = os.path.join(kernels, op, op + ".inc")
    with open(path, encoding="utf-8") as file:
        rows = re.findall(r"^CK_\w+_ROW\(\s*(\w+)\s*,\s*(\w+)\s*[,)]", file.read(), re.M)
    if not rows:
        fail(f"{path} has no rows")
    return rows


def expected_kernels(kernels, ops, target):
    return sorted(f"ckitchen_{op}_{name}" for op in ops for name, feature in kernel_rows(kernels, op)
                  if feature in target["features"])


def operator_of(kernel, ops):
    """The operator whose source holds a kernel: of the names that it begins with the longest, as the library has it."""
    return max((op for op in ops if kernel.startswith(f"ckitchen_{op}_")), key=len, default=None)


def compiler_version(clang):
    return run([clang, "--version"]).decode().splitlines()[0]


def compiler_major(clang):
    return int(run([clang, "-dumpversion"]).split(b".")[0])


def compile_flags(target, row):
    defines = [f"-DCKITCHEN_FEATURE_{name}=1" for name in target["features"]]
    if row:
        defines += ["-DCKITCHEN_ONE_ROW", f"-DCKITCHEN_ROW_{row}=1"]
    if target["kind"] == "elf":
        flags = ["-x", "hip", f"--offload-arch={target['name']}", "--cuda-device-only", "--no-gpu-bundle-output",
                 "-nogpuinc", "-nogpulib", "-mcode-object-version=4"]
        if target["vgprs_per_simd"] > target["class_vgprs"]:
            # Parts of one instruction set differ in the size of their register file, which steers the compiler's
            # scheduling. Compiling for the smaller file gives them one machine code: what is tested on one is what runs
            # on all.
            flags += ["-Xclang", "-target-feature", "-Xclang", "-allocate1_5xvgprs"]
        return flags + COMMON_FLAGS + defines
    # A path without a toolkit: what is installed on the building machine must not choose the PTX version.
    return ["-x", "cuda", f"--cuda-gpu-arch={target['name']}", "--cuda-device-only", "-nocudainc", "-nocudalib",
            "--cuda-path=/nonexistent", f"--cuda-feature=+ptx{target['ptx_version']}"] + COMMON_FLAGS + defines


def command_compile(args):
    target = find_target(args.arch, args.target)
    flags = compile_flags(target, args.row)
    if target["kind"] == "elf" and compiler_major(args.clang) < NEWER_COMPILER:
        flags += ["-include", OLDER_COMPILERS]
    preprocessed = run([args.clang, *flags, "-E", args.source])
    # Line markers name the files that were read; clang writes no dependency file when it compiles for HIP devices alone.
    # They stay out of the key, which must not depend on where the repository lies.
    marker = re.compile(rb'^# \d+ "([^"<]+)".*\n', re.M)
    files = sorted({os.path.abspath(name.decode()) for name in marker.findall(preprocessed)})
    preprocessed = marker.sub(b"", preprocessed)
    write_depfile(args, files)
    key = hashlib.sha256()
    for part in (compiler_version(args.clang), *flags):
        key.update(part.encode() + b"\0")
    key.update(preprocessed)
    cached = os.path.join(args.cache, key.hexdigest()[:2], key.hexdigest() + ".s")
    if not os.path.exists(cached):
        text = run([args.clang, *flags, "-S", "-o", "-", args.source])
        write_whole(cached, text)
    with open(cached, "rb") as file:
        write_whole(args.output, file.read())


def link(args, target):
    """Assembles the operators' files and links them into one code object.

    A loader reads the first metadata note only, so the notes of the parts are taken out and one that lists all kernels
    is assembled in their place.
    """
    assemble = [args.clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target['name']}", "-mcode-object-version=4", "-c"]
    kernels = []
    rest = None
    objects = []
    with tempfile.TemporaryDirectory() as work:
        for index, path in enumerate(args.inputs):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            metadata = METADATA.search(text)
            kernel_list = metadata and KERNEL_LIST.search(metadata.group(1))
            if not kernel_list:
                continue  # no kernel of this operator exists on this target
            kernels.append(kernel_list.group(1))
            rest = metadata.group(1)[kernel_list.end(1):]
            header = "".join(re.findall(r"^\t\.(?:amdgcn_target|amdhsa_code_object_version) .*\n", text, re.M))
            part = os.path.join(work, f"{index}.s")
            with open(part, "w", encoding="utf-8") as file:
                file.write(text[:metadata.start()] + text[metadata.end():])
            objects.append(os.path.join(work, f"{index}.o"))
            run([*assemble, part, "-o", objects[-1]])
        if not kernels:
            fail(f"{target['name']}: no kernel in {', '.join(args.inputs)}")
        notes = os.path.join(work, "notes.s")
        with open(notes, "w", encoding="utf-8") as file:
            file.write(header + "\t.amdgpu_metadata\n---\namdhsa.kernels:\n" +
                       "".join(kernels) + rest + "\t.end_amdgpu_metadata\n")
        objects.append(os.path.join(work, "notes.o"))
        run([*assemble, notes, "-o", objects[-1]])
        output = os.path.join(work, "linked")
        run([args.lld, "-flavor", "gnu", "-m", "elf64_amdgpu", "--no-undefined", "-shared", "-o", output, *objects])
        with open(output, "rb") as file:
            write_whole(args.output, file.read())


def occupancy(target, vgprs, local_bytes, threads):
    """Waves on one SIMD: the register file, then local memory and workgroup slots of a pair of compute units.

    A file of 1024 registers is allocated in steps of 16, one of 1536 in steps of 24. Two compute units (four SIMDs)
    share 128 KiB of local memory, allocated in steps of 1 KiB, and hold at most 32 workgroups.
    """
    total = target["vgprs_per_simd"]
    step = total // 64
    allocated = (max(vgprs, 1) + step - 1) // step * step
    by_registers = min(16, total // allocated)
    waves = (threads + 31) // 32
    groups = 32 if local_bytes == 0 else min(32, 131072 // ((local_bytes + 1023) // 1024 * 1024))
    return min(by_registers, groups * waves // 4)


def resources(code_object, target):
    table = {}
    for kernel in code_object.metadata()[0]["amdhsa.kernels"]:
        vgprs = kernel[".vgpr_count"]
        local_bytes = kernel[".group_segment_fixed_size"]
        threads = kernel[".max_flat_workgroup_size"]
        table[kernel[".name"]] = {
            "vgprs": vgprs,
            "sgprs": kernel[".sgpr_count"],
            "lds": local_bytes,
            "scratch": kernel[".private_segment_fixed_size"],
            "vgpr_spills": kernel[".vgpr_spill_count"],
            "sgpr_spills": kernel[".sgpr_spill_count"],
            "threads": threads,
            "kernarg": kernel[".kernarg_segment_size"],
            "waves_per_simd": occupancy(target, vgprs, local_bytes, threads),
        }
    return table


def check_object(code_object, target, expected):
    """The reasons why a code object must not ship; empty when it may."""
    errors = []
    if code_object.flags & 0xFF != target["elf_mach"]:
        errors.append(f"ELF machine 0x{code_object.flags & 0xFF:x}, arch.json says 0x{target['elf_mach']:x}")
    if code_object.abi_version != ELF_ABI_VERSION:
        errors.append(f"ABI version {code_object.abi_version}, wanted {ELF_ABI_VERSION} (code object version 4)")
    notes = code_object.metadata()
    if len(notes) != 1:
        errors.append(f"{len(notes)} metadata notes, a loader reads one")
        return errors
    if notes[0]["amdhsa.target"] != "amdgcn-amd-amdhsa--" + target["name"]:
        errors.append(f"metadata is for {notes[0]['amdhsa.target']}")
    found = sorted(kernel[".name"] for kernel in notes[0]["amdhsa.kernels"])
    errors += [f"kernel {name} is missing" for name in expected if name not in found]
    errors += [f"kernel {name} is in no list that this target's features allow" for name in found
               if name not in expected]
    for name, row in resources(code_object, target).items():
        for key in ("scratch", "vgpr_spills", "sgpr_spills"):
            if row[key] != 0:
                errors.append(f"{name}: {key} is {row[key]}, must be 0")
    return errors


def command_link(args):
    target = find_target(args.arch, args.target)
    link(args, target)
    code_object = CodeObject(args.output)
    errors = check_object(code_object, target, expected_kernels(args.kernels, args.ops, target))
    if errors:
        os.remove(args.output)
        fail(f"{args.target}: " + f"\ndevice_build: {args.target}: ".join(errors))
    table = {"compiler": compiler_version(args.clang), "target": args.target,
             "kernels": resources(code_object, target)}
    write_whole(args.resources, json.dumps(table, indent=1).encode() + b"\n")


def command_embed(args):
    """Compresses the files and writes the assembler file, the C++ table and the resource table."""
    arch, targets = load_arch(args.arch)
    os.makedirs(args.output, exist_ok=True)
    entries = []
    sources = []
    assembler = ["/* Generated by device_build.py. */", '\t.section .rodata,"a"']
    table = {}

    def pack(path, packed, symbol):
        """Compresses a file into the assembler text; the sizes before and after."""
        run([args.zstd, "-19", "-q", "-f", "--no-check", path, "-o", packed])
        assembler.extend(["\t.balign 16", f"\t.globl {symbol}", f"\t.hidden {symbol}", f"{symbol}:",
                          f'\t.incbin "{packed}"', ""])
        return os.path.getsize(packed), os.path.getsize(path)

    for item in args.objects:
        name, module, path = item.split("=", 2)
        sizes = pack(path, os.path.join(args.output, f"{name}-{module}.zst"), f"ckitchen_code_object_{len(entries)}")
        entries.append((name, targets[name]["kind"], module, *sizes))
    ops = [item.split("=", 1)[0] for item in args.sources]
    for item in args.sources:
        op, path = item.split("=", 1)
        for row, _ in kernel_rows(args.kernels, op):
            if operator_of(f"ckitchen_{op}_{row}", ops) != op:
                fail(f"the kernel ckitchen_{op}_{row} looks like one of {operator_of(f'ckitchen_{op}_{row}', ops)}")
        sizes = pack(path, os.path.join(args.output, f"source-{op}.zst"), f"ckitchen_source_{len(sources)}")
        sources.append((op, *sizes))
    assembler.append('\t.section .note.GNU-stack,"",%progbits\n')
    compiler = ""
    for path in args.resources:
        with open(path, encoding="utf-8") as file:
            part = json.load(file)
        compiler = part["compiler"]
        table[part["target"]] = part["kernels"]
    bits = {name: bit for bit, name in enumerate(arch["features"])}
    with open(args.tuning, encoding="utf-8") as file:
        tuning = file.read()
    json.loads(tuning)
    if ')json"' in tuning:
        fail(f"{args.tuning} holds the end mark of a raw string")

    lines = ["// Generated by device_build.py.", '#include "runtime/embedded_objects.hpp"', ""]
    if entries or sources:
        lines += ['extern "C" {'] + [f"extern const unsigned char ckitchen_code_object_{index}[];"
                                     for index in range(len(entries))]
        lines += [f"extern const unsigned char ckitchen_source_{index}[];" for index in range(len(sources))] + ["}", ""]
    lines += ["namespace ckitchen {", "namespace {", ""]
    if entries:
        lines += ["constexpr EmbeddedObject kObjects[] = {"]
        lines += [f'    {{"{name}", "{kind}", "{module}", ckitchen_code_object_{index}, {packed}, {raw}}},'
                  for index, (name, kind, module, packed, raw) in enumerate(entries)] + ["};", ""]
    if sources:
        lines += ["constexpr EmbeddedSource kSources[] = {"]
        lines += [f'    {{"{op}", ckitchen_source_{index}, {packed}, {raw}}},'
                  for index, (op, packed, raw) in enumerate(sources)] + ["};", ""]
    lines += ["constexpr const char* kRuntimeCompilerFlags[] = {"]
    lines += [f'    "{flag}",' for flag in RUNTIME_COMPILER_FLAGS] + ["};", ""]
    lines += ["constexpr Target kTargets[] = {"]
    for name, target in targets.items():
        mask = sum(1 << bits[feature] for feature in target["features"])
        lines.append(f'    {{"{name}", "{target["kind"]}", "{target.get("family", "")}", {target.get("elf_mach", 0)}, '
                     f'{target.get("min_compute_capability", 0)}, {"true" if target.get("exact") else "false"}, '
                     f'{mask}}},')
    lines += ["};", "", "constexpr const char* kFeatures[] = {"] + [f'    "{name}",' for name in bits] + ["};", ""]
    lines += [f'constexpr const char kTuning[] = R"json({tuning})json";', "", "}  // namespace", ""]
    lines += ["std::span<const EmbeddedObject> embedded_objects() { return " + ("kObjects" if entries else "{}") + "; }",
              "std::span<const EmbeddedSource> embedded_sources() { return " + ("kSources" if sources else "{}") + "; }",
              "std::span<const char* const> runtime_compiler_flags() { return kRuntimeCompilerFlags; }",
              "std::span<const Target> known_targets() { return kTargets; }",
              "std::span<const char* const> feature_names() { return kFeatures; }",
              "std::string_view default_tuning() { return kTuning; }",
              f'std::string_view device_compiler() {{ return "{compiler}"; }}', "", "}  // namespace ckitchen", ""]
    write_whole(os.path.join(args.output, "code_objects.S"), "\n".join(assembler).encode())
    write_whole(os.path.join(args.output, "code_objects.cpp"), "\n".join(lines).encode())
    write_whole(os.path.join(args.output, "resources.json"),
                json.dumps({"compiler": compiler, "targets": table}, indent=1).encode() + b"\n")


OLDER_COMPILERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "device", "llvm15.h")
NEWER_COMPILER = 20  # the oldest that is not an older one
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|endif)\b")
COMMENT_LINE = re.compile(r"^\s*//.*$")


def flatten(path):
    """One text that compiles as the source does: its includes in their places, for compilers that are given no files.

    A file with `#pragma once` is guarded by a macro instead. It is left out where it stood before, unless that was under
    a condition. Comment lines go.
    """
    lines = []
    files = []
    seen = set()

    def add(name, depth):
        name = os.path.normpath(name)
        files.append(name)
        with open(name, encoding="utf-8") as file:
            text = file.read().splitlines()
        once = "#pragma once" in text
        if once and name in seen:
            return
        if once and depth == 0:
            seen.add(name)
        guard = "CK_HAVE_" + re.sub(r"\W", "_", os.path.relpath(name, os.path.dirname(os.path.dirname(path)))).upper()
        if once:
            lines.extend([f"#ifndef {guard}", f"#define {guard}"])
        inside = depth
        for line in text:
            include = INCLUDE.match(line)
            condition = CONDITION.match(line)
            if include:
                add(os.path.join(os.path.dirname(name), include.group(1)), inside)
                continue
            if condition:
                inside += -1 if condition.group(1) == "endif" else 1
            if line and line != "#pragma once" and not COMMENT_LINE.match(line):
                lines.append(line)
        if once:
            lines.append("#endif")

    lines.append(f"#if __clang_major__ < {NEWER_COMPILER}")
    add(OLDER_COMPILERS, 1)
    lines.append("#endif")
    add(path, 0)
    return "\n".join(lines) + "\n", sorted(set(files))


def command_flatten(args):
    text, files = flatten(args.source)
    write_whole(args.output, text.encode())
    write_depfile(args, files)


def command_rows(args):
    """Prints `op row` for every row that a target has, for CMake."""
    target = find_target(args.arch, args.target)
    for op in args.ops:
        for name, feature in kernel_rows(args.kernels, op):
            if feature in target["features"]:
                print(op, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", required=True, help="arch.json")
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("compile", help="one source, one target: assembly or PTX")
    command.set_defaults(run=command_compile)
    for name in ("clang", "target", "source", "output", "depfile", "cache"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--row", help="keep this row only")

    command = commands.add_parser("link", help="one target's assembly files: a checked code object")
    command.set_defaults(run=command_link)
    for name in ("clang", "lld", "kernels", "target", "output", "resources"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--ops", nargs="+", required=True)
    command.add_argument("--inputs", nargs="+", required=True)

    command = commands.add_parser("embed", help="files for the library from all code objects")
    command.set_defaults(run=command_embed)
    for name in ("zstd", "tuning", "output"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--kernels", help="where the lists of rows are; needed with sources")
    command.add_argument("--objects", nargs="*", default=[], metavar="TARGET=MODULE=FILE")
    command.add_argument("--sources", nargs="*", default=[], metavar="OP=FILE")
    command.add_argument("--resources", nargs="*", default=[])

    command = commands.add_parser("flatten", help="a source and all that it includes as one file")
    command.set_defaults(run=command_flatten)
    for name in ("source", "output", "depfile"):
        command.add_argument("--" + name, required=True)

    command = commands.add_parser("rows", help="the rows that exist on a target")
    command.set_defaults(run=command_rows)
    for name in ("kernels", "target"):
        command.add_argument("--" + name, required=True)
    command.add_argument("--ops", nargs="+", required=True)

    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
