"""Checks which libraries an extension module for macOS or Windows loads."""

from __future__ import annotations

import re
from dataclasses import dataclass

ENTRY = "PyInit__native"
"""The function that Python calls to load the extension module."""

OF_MACOS = ("/usr/lib/", "/System/Library/Frameworks/")
"""The folders of the libraries that every Mac has."""

OF_WINDOWS = re.compile(
    r"(?:python3|kernel32|kernelbase|ntdll|advapi32|bcrypt|bcryptprimitives|crypt32|msvcrt|ucrtbase"
    r"|userenv|ws2_32|ole32|shell32|user32|vcruntime140|api-ms-win-[\w-]+)\.dll",
    re.IGNORECASE,
)
"""The libraries that every Windows system has, and Python's stable interface."""


OF_LIBSYSTEM = ("_sys_icache_invalidate",)
"""Functions of libSystem that are missing in zig's list of libSystem's functions."""


@dataclass(frozen=True)
class Module:
    """The libraries and symbols that an extension module imports, and the systems that it
    supports."""

    libraries: tuple[str, ...]
    """The libraries that the module loads, except the module itself."""
    exports: frozenset[str]
    """The names of the functions that the module exports, without the leading underscore of
    macOS."""
    unplaced: tuple[str, ...] = ()
    """The symbols that may come from any library. Only modules for macOS have such symbols."""
    oldest: tuple[int, int] | None = None
    """The oldest version of macOS that can load the module."""
    signed: bool = True
    """Whether the module has a signature, which macOS on ARM requires."""


def read(data: bytes) -> Module:
    """Read an extension module for macOS or Windows. Raise `ValueError` for other files."""
    import lief

    lief.logging.disable()
    binary = lief.parse(data)
    if isinstance(binary, lief.PE.Binary):
        entries = binary.get_export()
        names = () if entries is None else (entry.name for entry in entries.entries)
        return Module(
            tuple(str(entry.name) for entry in binary.imports), frozenset(map(str, names))
        )
    if isinstance(binary, lief.MachO.FatBinary):
        binary = binary.at(0)
    if not isinstance(binary, lief.MachO.Binary):
        raise ValueError("is neither a module for macOS nor one for Windows")
    itself = lief.MachO.LoadCommand.TYPE.ID_DYLIB
    unplaced = []
    for symbol in binary.imported_symbols:
        bound = symbol.binding_info
        if bound is None or not bound.has_library:
            unplaced.append(str(symbol.name))
    oldest = None
    if binary.build_version is not None:
        oldest = binary.build_version.minos
    elif binary.version_min is not None:
        oldest = binary.version_min.version
    return Module(
        tuple(library.name for library in binary.libraries if library.command != itself),
        frozenset(str(symbol.name).removeprefix("_") for symbol in binary.exported_symbols),
        tuple(unplaced),
        None if oldest is None else (oldest[0], oldest[1]),
        binary.has_code_signature,
    )


def problems(module: Module, platform: str) -> list[str]:
    """Return reasons why systems of a wheel's platform tag could not load the module."""
    found = [] if ENTRY in module.exports else [f"does not export {ENTRY}"]
    if platform.startswith("win"):
        foreign = [name for name in module.libraries if not OF_WINDOWS.fullmatch(name)]
        return found + [f"loads {name}, which not every Windows has" for name in foreign]
    foreign = [name for name in module.libraries if not name.startswith(OF_MACOS)]
    found += [f"loads {name}, which not every Mac has" for name in foreign]
    # Python's symbols are resolved when Python loads the module. Any other symbol that no library
    # provides would be missing at this time.
    lost = [
        name
        for name in module.unplaced
        if not re.match(r"__?Py", name) and name not in OF_LIBSYSTEM
    ]
    found += [f"needs {name}, which no library of it has" for name in lost]
    tag = re.match(r"macosx_(\d+)_(\d+)_", platform)
    promised = (int(tag[1]), int(tag[2])) if tag else (0, 0)
    if module.oldest is None or module.oldest > promised:
        found.append(f"needs macOS {module.oldest}, newer than {promised} of the wheel's name")
    if platform.endswith("arm64") and not module.signed:
        found.append("has no signature, which macOS on ARM requires")
    return found
