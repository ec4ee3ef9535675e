"""Compiles and runs the README's C example exactly as it stands there.

    readme_example.py README CC INCLUDE_FOLDER LIBRARY_FOLDER WORK_FOLDER C_FLAGS
"""

import os
import re
import shlex
import subprocess
import sys


def main(readme, compiler, include, library, work, flags):
    text = open(readme, encoding="utf-8").read()
    blocks = re.findall(r"^```c\n(.*?)^```$", text, flags=re.M | re.S)
    if len(blocks) != 1:
        print(f"{readme} has {len(blocks)} C examples, must have one")
        return 1
    source = os.path.join(work, "readme_example.c")
    program = os.path.join(work, "readme_example")
    with open(source, "w", encoding="utf-8") as file:
        file.write(blocks[0])
    subprocess.run([compiler, *shlex.split(flags), "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", include, source,
                    "-L", library, "-lckitchen", "-Wl,-rpath," + library, "-o", program], check=True)
    result = subprocess.run([program], capture_output=True, text=True, env={**os.environ, "CKITCHEN_BACKEND": "cpu"})
    print(result.stdout + result.stderr, end="")
    if result.returncode != 0:
        return 1
    # What the README says that it prints.
    expected = re.search(r"^```c\n.*?^```$.*?^```text\n(.*?)^```$", text, flags=re.M | re.S)
    if not expected or expected.group(1) != result.stdout:
        print("the README shows another output")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
