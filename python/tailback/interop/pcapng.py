"""Exports the packet capture of a run for Wireshark and other programs that read pcapng."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tailback.base.names import unknown
from tailback.errors import DamagedResults, InputError
from tailback.store import layout
from tailback.store.run_folder import StoredRun

INTERFACE, PACKET = 1, 6

MAX_BLOCK = 1 << 20
"""The largest block in bytes. The block of a packet contains only the packet's headers."""

_IF_NAME = 2


@dataclass(frozen=True)
class Pcapng:
    """Format `pcapng`: the headers of every packet at every link of the run."""

    suffix: str = ".pcapng"

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        """Copy the capture, or only the packets of some interfaces."""
        capture = StoredRun(run).packets()
        if capture is None:
            raise InputError(
                f"{run}: no packets were recorded; run the scenario with record.packets = true "
                "(--set record.packets=true)"
            )
        with layout.replacing(out) as part:
            if interfaces:
                _select(capture, part, interfaces)
            else:
                shutil.copyfile(capture, part)
        return [out]


FORMAT = Pcapng()


def _select(capture: Path, out: Path, wanted: Sequence[str]) -> None:
    with capture.open("rb") as source:
        names = [_name(block) for kind, block in blocks(source) if kind == INTERFACE]
    for name in wanted:
        if name not in names:
            raise InputError(unknown("interface", name, names))
    # Keep the blocks of all interfaces, so that the interface numbers of packets stay valid.
    kept = {number for number, name in enumerate(names) if name in wanted}
    with capture.open("rb") as source, out.open("wb") as target:
        for kind, block in blocks(source):
            if kind != PACKET or int.from_bytes(block[8:12], "little") in kept:
                target.write(block)


def blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the bytes of each pcapng block. Blocks are little-endian, as tailback
    writes them."""
    while head := file.read(8):
        if len(head) < 8:
            raise DamagedResults(f"{file.name}: the capture ends in the middle of a block")
        kind, length = struct.unpack("<II", head)
        if not 12 <= length <= MAX_BLOCK:
            raise DamagedResults(
                f"{file.name}: not the capture of a run (a block of {length} bytes)"
            )
        rest = file.read(length - 8)
        if len(rest) < length - 8:
            raise DamagedResults(f"{file.name}: the capture ends in the middle of a block")
        yield kind, head + rest


def _name(block: bytes) -> str:
    at = 16
    while at + 4 <= len(block) - 4:
        code, length = struct.unpack_from("<HH", block, at)
        if code == _IF_NAME:
            return block[at + 4 : at + 4 + length].decode(errors="replace")
        at += 4 + (length + 3) // 4 * 4
    return ""
