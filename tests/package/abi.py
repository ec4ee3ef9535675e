"""Compares the binary interface of a library that was compiled with -g with the one that is written down. Every difference, additions
included, needs a look and a new baseline in the same commit: `ninja abi_baseline`.

    abi.py check LIBRARY INCLUDE_FOLDER BASELINE     exit status 1 when anything differs
    abi.py write LIBRARY INCLUDE_FOLDER BASELINE     writes the baseline
    abi.py faults LIBRARY INCLUDE_FOLDER BASELINE    plants differences, each of which must be seen
"""

import platform
import re
import subprocess
import sys
import tempfile


def written(library, include):
    command = ["abidw", "--headers-dir", include, "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path", "--no-parameter-names",
               "--exported-interfaces-only", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # What the library needs is package.symbols' matter, where it was built nobody's.
    text = re.sub(r"  <elf-needed>.*?</elf-needed>\n", "", text, flags=re.S)
    text = re.sub(r"path='[^']*?/((?:src/\w+|include)/\w+\.\w+)'", r"path='\1'", text)
    # Lines move; without a file abidiff would take a type for private and be silent about it.
    return re.sub(r" (line|column)='\d+'", r" \1='1'", text)


def compare(library, include, baseline):
    """abidiff's status, and what it and the number of functions say."""
    with open(baseline, encoding="utf-8") as file:
        functions = len(re.findall(r"<function-decl [^>]*elf-symbol-id='ck_", file.read()))
    result = subprocess.run(["abidiff", "--headers-dir2", include, baseline, library], capture_output=True, text=True)
    told = f"{result.stdout}{result.stderr}{functions} functions in the baseline, abidiff's status {result.returncode}"
    return (1 if functions < 40 else result.returncode), told


# What the baseline must have had for the library to be a change from it: another library would be a build.
FAULTS = {
    "a symbol that is gone": (r"(    <elf-symbol name=')ck_version(' )", r"\1ck_old_version\2"),
    "a field of another type": (r"(<var-decl name='lda' type-id=)'type-id-\d+'", r"\1'type-id-1'"),
    "a field that moved": (r"layout-offset-in-bits='96'(>\s*<var-decl name='threads')", r"layout-offset-in-bits='160'\1"),
    "a struct that grew": (r"(<class-decl name='ck_na3d_args' size-in-bits=)'\d+'", r"\1'64'"),
    "a parameter of another type": (r"(<function-decl name='ck_synchronize'.*?<parameter type-id=)'type-id-\d+'", r"\1'type-id-1'"),
}


def faults(library, include, baseline):
    with open(baseline, encoding="utf-8") as file:
        text = file.read()
    missed = 0
    for what, (pattern, replacement) in FAULTS.items():
        changed, count = re.subn(pattern, replacement, text, count=1, flags=re.S)
        with tempfile.NamedTemporaryFile("w", suffix=".abi", encoding="utf-8") as file:
            file.write(changed)
            file.flush()
            status, _ = compare(library, include, file.name)
        print(f"{what}: abidiff's status {status}" if count else f"{what}: cannot be planted")
        missed += not count or not status
    return 1 if missed else 0


def main(what, library, include, baseline):
    if what == "write":
        with open(baseline, "w", encoding="utf-8") as file:
            file.write(written(library, include))
        return 0
    if platform.machine() != "x86_64":
        print("the baseline is of x86-64")
        return 77
    if what == "faults":
        return faults(library, include, baseline)
    status, told = compare(library, include, baseline)
    print(told)
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
