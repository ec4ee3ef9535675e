"""Reads AMDGPU code objects: ELF header, sections, symbols and the kernel metadata note (MessagePack)."""

import struct


class CodeObject:
    """A 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        self.os_abi = self.data[7]
        self.abi_version = self.data[8]
        (self.machine,) = struct.unpack_from("<H", self.data, 18)
        (section_offset,) = struct.unpack_from("<Q", self.data, 40)
        (self.flags,) = struct.unpack_from("<I", self.data, 48)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        self.sections = {}
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, section_offset + index * size)
                   for index in range(count)]
        name_table = headers[names][4]
        for header in headers:
            end = self.data.index(b"\0", name_table + header[0])
            name = self.data[name_table + header[0]:end].decode()
            self.sections[name] = header

    def section(self, name):
        header = self.sections[name]
        return self.data[header[4]:header[4] + header[5]]

    def metadata(self):
        """The contents of every NT_AMDGPU_METADATA note; a loader reads the first one only."""
        notes = self.section(".note")
        found = []
        position = 0
        while position < len(notes):
            name_size, size, kind = struct.unpack_from("<III", notes, position)
            position += 12
            name = notes[position:position + name_size]
            position += (name_size + 3) // 4 * 4
            if name == b"AMDGPU\0" and kind == 32:
                found.append(unpack_message(notes[position:position + size]))
            position += (size + 3) // 4 * 4
        return found


def unpack_message(data):
    """Decodes the MessagePack types that kernel metadata uses."""

    position = 0

    def take(size):
        nonlocal position
        position += size
        return data[position - size:position]

    def number(size, signed=False):
        return int.from_bytes(take(size), "big", signed=signed)

    def value():
        tag = number(1)
        if tag < 0x80:
            return tag
        if tag < 0x90:
            return {value(): value() for _ in range(tag & 15)}
        if tag < 0xA0:
            return [value() for _ in range(tag & 15)]
        if tag < 0xC0:
            return take(tag & 31).decode()
        if tag >= 0xE0:
            return tag - 256
        if tag == 0xC0:
            return None
        if tag in (0xC2, 0xC3):
            return tag == 0xC3
        if 0xCC <= tag <= 0xCF:
            return number(1 << (tag - 0xCC))
        if 0xD0 <= tag <= 0xD3:
            return number(1 << (tag - 0xD0), True)
        if 0xD9 <= tag <= 0xDB:
            return take(number(1 << (tag - 0xD9))).decode()
        if tag in (0xDC, 0xDD):
            return [value() for _ in range(number(2 << (tag - 0xDC)))]
        if tag in (0xDE, 0xDF):
            return {value(): value() for _ in range(number(2 << (tag - 0xDE)))}
        raise ValueError(f"MessagePack tag 0x{tag:02x} does not occur in kernel metadata")

    return value()
