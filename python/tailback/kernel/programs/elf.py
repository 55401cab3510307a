"""Finds for which processor an executable file was built, and which libraries it needs.

The file is untrusted, so every offset and size is compared with the file's length before it is
used.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x7fELF"
X86_64 = 62
MACHINES = {
    **{3: "32-bit x86", 8: "MIPS", 20: "PowerPC", 21: "64-bit PowerPC", 22: "s390"},
    **{40: "32-bit ARM", X86_64: "x86-64", 183: "64-bit ARM", 243: "RISC-V", 258: "LoongArch"},
}

LOAD, DYNAMIC, INTERPRETER = 1, 2, 3
NEEDED, STRTAB, STRSZ, RPATH, RUNPATH = 1, 5, 10, 15, 29
MOST_HEADERS = 1024
MOST_ENTRIES = 65536
LONGEST_NAME = 4096


@dataclass(frozen=True)
class Elf:
    """An executable or a library."""

    machine: str
    """The processor for which the file was compiled, as text."""
    runs_here: bool
    """Whether the file is for the processor of the guest, x86-64."""
    interpreter: str = ""
    """The loader that the file names. Empty for a library or a statically linked program."""
    needed: tuple[str, ...] = ()
    """The libraries that the file needs, as the file names that the loader searches for."""
    paths: tuple[str, ...] = ()
    """The folders that the file asks the loader to search first."""


class Damaged(ValueError):
    """Raised if a file has ELF's magic number but an invalid structure."""


def read(path: Path) -> Elf | None:
    """Read an ELF file, or return None if the file has another format. Raises `Damaged` if the file
    is invalid, and `OSError` if it cannot be read."""
    with path.open("rb") as file:
        if file.read(4) != MAGIC:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _read(data)
            except (struct.error, IndexError, UnicodeDecodeError) as error:
                raise Damaged("it ends before the data that its header describes") from error


def _read(data: mmap.mmap) -> Elf:
    wide, little = data[4] == 2, data[5] == 1
    [number] = struct.unpack_from("<H" if little else ">H", data, 18)
    machine = MACHINES.get(number, f"processor {number}")
    if not (wide and little and number == X86_64):
        if number == X86_64:
            machine = "x86-64 with 32-bit pointers"
        return Elf(machine, runs_here=False)
    headers = list(_headers(data))
    interpreter = ""
    table: dict[int, list[int]] = {}
    for kind, offset, _address, size in headers:
        if kind == INTERPRETER:
            interpreter = _bytes(data, offset, size).rstrip(b"\0").decode()
        elif kind == DYNAMIC:
            table = _dynamic(_bytes(data, offset, min(size, 16 * MOST_ENTRIES)))
    if not table:
        return Elf(machine, runs_here=True, interpreter=interpreter)
    texts = _bytes(data, _offset(headers, table[STRTAB][0]), table[STRSZ][0])

    def named(tag: int) -> Iterator[str]:
        for at in table.get(tag, ()):
            yield texts[at : texts.find(b"\0", at, at + LONGEST_NAME)].decode()

    paths = [one for text in (*named(RPATH), *named(RUNPATH)) for one in text.split(":") if one]
    return Elf(machine, True, interpreter, tuple(named(NEEDED)), tuple(paths))


def _headers(data: mmap.mmap) -> Iterator[tuple[int, int, int, int]]:
    """Yield kind, offset, address and size of each segment."""
    [at] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(min(count, MOST_HEADERS)):
        kind, _flags, offset, address, _physical, length = struct.unpack_from(
            "<IIQQQQ", data, at + index * size
        )
        yield kind, offset, address, length


def _dynamic(table: bytes) -> dict[int, list[int]]:
    entries: dict[int, list[int]] = {}
    for tag, value in struct.iter_unpack("<QQ", table[: len(table) // 16 * 16]):
        if tag == 0:
            break
        entries.setdefault(tag, []).append(value)
    if STRTAB not in entries or STRSZ not in entries:
        raise Damaged("its dynamic section has no names")
    return entries


def _offset(headers: list[tuple[int, int, int, int]], address: int) -> int:
    for kind, offset, start, size in headers:
        if kind == LOAD and start <= address < start + size:
            return offset + address - start
    raise Damaged("its names are in no segment")


def _bytes(data: mmap.mmap, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise Damaged("it ends before the data that its header describes")
    return data[offset : offset + size]
