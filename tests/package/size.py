#!/usr/bin/env python3
"""Checks how much of a library is loaded into memory or mapped from its file, debug information aside.

size.py LIBRARY LIMIT_BYTES
"""

import struct
import sys

PT_LOAD = 1


def loaded_bytes(path):
    """Where the last loadable segment of an ELF64 file ends: symbols and debug information lie behind it."""
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02":
            sys.exit(f"{path} is no ELF64 file")
        table, = struct.unpack_from("<Q", header, 32)
        entry_size, count = struct.unpack_from("<HH", header, 54)
        end = 0
        for index in range(count):
            file.seek(table + index * entry_size)
            kind, _, offset, _, _, size = struct.unpack("<IIQQQQ", file.read(40))
            if kind == PT_LOAD:
                end = max(end, offset + size)
    return end


def main():
    path, limit = sys.argv[1], int(sys.argv[2])
    size = loaded_bytes(path)
    print(f"{path}: {size} bytes")
    if size > limit:
        sys.exit(f"{path} has {size} bytes, {size - limit} more than {limit}")


main()
