#!/usr/bin/env python3
"""Builds what gfx103x gets with the oldest compiler that a runtime there may bring along (LLVM 15).

The kernels must compile, keep their registers out of scratch memory, and be complete.
"""

import argparse
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tools", "device_build.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("arch", "kernels", "clang", "lld"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ops", nargs="+", required=True)
    args = parser.parse_args()
    tool = [sys.executable, TOOL, "--arch", args.arch]
    with tempfile.TemporaryDirectory() as work:
        parts = []
        for op in args.ops:
            parts.append(os.path.join(work, op + ".s"))
            subprocess.run([*tool, "compile", "--clang", args.clang, "--target", "gfx1030", "--source",
                            os.path.join(args.kernels, op, op + ".hip"), "--output", parts[-1], "--depfile",
                            parts[-1] + ".d", "--cache", os.path.join(work, "cache")], check=True)
        subprocess.run([*tool, "link", "--clang", args.clang, "--lld", args.lld, "--kernels", args.kernels, "--target",
                        "gfx1030", "--output", os.path.join(work, "all.elf"), "--resources",
                        os.path.join(work, "resources.json"), "--ops", *args.ops, "--inputs", *parts], check=True)


if __name__ == "__main__":
    main()
