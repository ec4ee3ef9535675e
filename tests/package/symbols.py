"""The exported symbols are exactly those of the header and of the symbol map, and the library needs nothing but the C and C++
runtimes and zstd.

    symbols.py LIBRARY HEADER MAP
"""

import re
import subprocess
import sys

# The loader belongs to the C library: position-independent thread-local data names it.
ALLOWED = re.compile(r"lib(c|m|gcc_s|stdc\+\+|zstd|asan|ubsan|tsan|dl|pthread)\.so\.\d+|ld-linux.*\.so\.\d+")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(library, header, symbol_map):
    failures = []
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
    declared = set(re.findall(r"^CK_API [^;]*?\b(ck_\w+)\(", text, flags=re.M | re.S))
    in_map = set(re.findall(r"^\s+(ck_\w+);$", open(symbol_map, encoding="utf-8").read(), flags=re.M))
    exported = {}
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        name, _, version = line.split()[-1].partition("@@")
        if line.split()[-2] == "A":  # the version nodes themselves
            continue
        exported[name] = version
    for what, names in (("the header", declared), ("the symbol map", in_map)):
        if len(names) < 40:
            failures.append(f"only {len(names)} names found in {what}: this test no longer reads it")
        for name in sorted(names - exported.keys()):
            failures.append(f"{name} is in {what} and not exported")
        for name in sorted(exported.keys() - names):
            failures.append(f"{name} is exported and not in {what}")
    for name, version in sorted(exported.items()):
        if not version.startswith("CKITCHEN_"):
            failures.append(f"{name} has the version '{version}'")
    dynamic = run("readelf", "-d", library)
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not ALLOWED.fullmatch(needed):
            failures.append(f"the library needs {needed}")
    if not re.search(r"\(SONAME\).*\[libckitchen\.so\.\d+\]", dynamic):
        failures.append("the library has no SONAME")
    if "NODELETE" not in dynamic:
        failures.append("the library can be unloaded")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        failures.append("the library has a run path")
    for failure in failures:
        print(failure)
    print(f"{len(exported)} symbols exported, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
