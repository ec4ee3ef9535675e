"""Offsets and sizes of every field, as the C compiler has them and as the generated declarations do. Rust and Go check the sizes of
the same structs when they compile.

    layout_test.py CC INCLUDE_FOLDER PINS WORK_FOLDER

PINS is the C file that pins layout and constants for good: nothing may be missing in it.
"""

import ctypes
import os
import subprocess
import sys

from ckitchen import _abi


def main(compiler, include, pins, work):
    with open(pins, encoding="utf-8") as file:
        pinned = file.read()
    wanted = [f"FIELD({struct.__name__}, {name}," for struct in _abi.STRUCTS for name, _ in struct._fields_]
    wanted += [f"PIN({name} == {value});" for name, value in vars(_abi).items() if name.startswith("CK_") and name != "CK_VERSION"]
    missing = [pin for pin in wanted if pin not in pinned]
    for pin in missing:
        print(f"not pinned: {pin}")
    os.makedirs(work, exist_ok=True)
    expected, prints = [], []
    for struct in _abi.STRUCTS:
        for name, _ in struct._fields_:
            field = getattr(struct, name)
            expected.append(f"{struct.__name__}.{name} {field.offset} {field.size} of {ctypes.sizeof(struct)}")
            prints.append(f'    printf("{struct.__name__}.{name} %zu %zu of %zu\\n", offsetof({struct.__name__}, {name}), '
                          f"sizeof((({struct.__name__}*)0)->{name}), sizeof({struct.__name__}));")
    source, program = os.path.join(work, "layout.c"), os.path.join(work, "layout")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <ckitchen.h>\n#include <stdio.h>\n\nint main(void) {\n" + "\n".join(prints) + "\n    return 0;\n}\n")
    subprocess.run([compiler, "-std=c99", "-I", include, source, "-o", program], check=True)
    actual = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    differing = [(c, declared) for c, declared in zip(actual, expected) if c != declared]
    for c, declared in differing:
        print(f"C has {c}, declared is {declared}")
    print(f"{len(expected)} fields of {len(_abi.STRUCTS)} structs, {len(differing)} differ")
    return 1 if missing or differing or len(actual) != len(expected) or not expected else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
