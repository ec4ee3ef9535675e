#!/usr/bin/env python3
"""Checks the code objects of a build: the kernels in them, their headers, and that a class shares its machine code.

Every check is also run on a fault that it has to find.
"""

import argparse
import copy
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools"))
from device_build import check_object, expected_kernels, load_arch, resources  # noqa: E402
from elf import CodeObject  # noqa: E402


def disassemble(objdump, path):
    """Instructions of a file as lines, without addresses."""
    text = subprocess.run([objdump, "-d", "--no-leading-addr", "--no-show-raw-insn", path], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    return [line.split("//")[0].rstrip() for line in text.splitlines() if line.startswith("\t")]


def compare_classes(objects, targets):
    """Differences between the code sections of targets of one class."""
    errors = []
    first = {}
    for name, code_object in objects.items():
        reference = first.setdefault(targets[name]["code_class"], name)
        if code_object.section(".text") != objects[reference].section(".text"):
            errors.append((reference, name))
    return errors


def explain(objdump, directory, reference, name):
    files = [os.path.join(directory, target, "all.elf") for target in (reference, name)]
    left, right = (disassemble(objdump, path) for path in files)
    different = next((index for index, pair in enumerate(zip(left, right)) if pair[0] != pair[1]), min(len(left), len(right)))
    return (f"{reference} has {len(left)} instructions, {name} {len(right)}; instruction {different} is "
            f"{left[different:different + 1]} and {right[different:different + 1]}")


def with_changed_byte(code_object, section):
    changed = copy.copy(code_object)
    offset = code_object.sections[section][4] + code_object.sections[section][5] // 2
    data = bytearray(code_object.data)
    data[offset] ^= 1
    changed.data = bytes(data)
    return changed


def planted_faults(objects, targets, expected):
    """Names of the faults that went unnoticed."""
    missed = []
    name, code_object = next(iter(objects.items()))
    target = targets[name]

    twin = next((other for other in objects
                 if other != name and targets[other]["code_class"] == target["code_class"]), None)
    if twin:
        damaged = dict(objects, **{twin: with_changed_byte(objects[twin], ".text")})
        if (name, twin) not in compare_classes(damaged, targets):
            missed.append("one changed bit in the code of " + twin)

    def must_fail(what, changed, changed_target, kernels):
        if not check_object(changed, changed_target, kernels):
            missed.append(what)

    must_fail("a kernel that is not there", code_object, target, expected[name] + ["ckitchen_int8_gemm_absent"])
    must_fail("a kernel that should not be there", code_object, target, expected[name][1:])
    must_fail("another machine", code_object, dict(target, elf_mach=target["elf_mach"] + 1), expected[name])
    must_fail("another target's metadata", code_object, dict(target, name="gfx9999"), expected[name])
    other_version = copy.copy(code_object)
    other_version.abi_version = 4
    must_fail("another code object version", other_version, target, expected[name])
    for key in (".private_segment_fixed_size", ".vgpr_spill_count", ".sgpr_spill_count"):
        spilled = copy.copy(code_object)
        notes = code_object.metadata()
        notes[0]["amdhsa.kernels"][0][key] = 4
        spilled.metadata = lambda notes=notes: notes
        must_fail(key + " of 4", spilled, target, expected[name])
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("arch", "kernels", "build", "objdump"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ops", nargs="+", required=True)
    parser.add_argument("--targets", nargs="+", required=True)
    args = parser.parse_args()

    targets = load_arch(args.arch)[1]
    objects = {name: CodeObject(os.path.join(args.build, name, "all.elf")) for name in args.targets}
    expected = {name: expected_kernels(args.kernels, args.ops, targets[name]) for name in objects}
    errors = []
    for name, code_object in objects.items():
        errors += [f"{name}: {error}" for error in check_object(code_object, targets[name], expected[name])]
    for reference, name in compare_classes(objects, targets):
        errors.append(explain(args.objdump, args.build, reference, name))
    errors += ["unnoticed: " + fault for fault in planted_faults(objects, targets, expected)]
    for error in errors:
        print("FAILED", error)
    if errors:
        return 1

    classes = {}
    for name in objects:
        classes.setdefault(targets[name]["code_class"], []).append(name)
    for members in classes.values():
        count = len(disassemble(args.objdump, os.path.join(args.build, members[0], "all.elf")))
        print(f"{' '.join(members)}: one machine code, {count} instructions, {len(expected[members[0]])} kernels")
        for kernel, row in resources(objects[members[0]], targets[members[0]]).items():
            print(f"    {kernel}: {row['vgprs']} VGPRs, {row['sgprs']} SGPRs, {row['lds']} bytes of LDS, "
                  f"{row['waves_per_simd']} waves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
