"""Reads compiled kernel modules, and builds modules that are not in the tree."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.base import folders
from tailback.errors import InputError, TailbackError
from tailback.kernel import kit as kits
from tailback.kernel import manifest as manifests
from tailback.kernel import process, releases, source

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
COMPAT = Path(__file__).with_name("compat.h")
"""A header with definitions for older kernels. Every module for an older kernel is compiled with
this header."""

OUTPUT = re.compile(r"^export KBUILD_OUTPUT = (.+)$", re.MULTILINE)
IS_MODULE = re.compile(r"\b(module_init|MODULE_LICENSE)\s*\(")


@dataclass(frozen=True)
class Kinds:
    """The queue disciplines and congestion controls that a module registers, by the names that tc
    and sockets use."""

    qdiscs: tuple[str, ...]
    ccs: tuple[str, ...]
    guessed: bool = False
    """Whether the names are only file names, because the sources do not contain the algorithms'
    names."""


def build_flags(version: str) -> list[str]:
    """Return the arguments of make for a kernel of this version."""
    return ["ARCH=um", *(word for one in releases.helps(version) for word in one.make)]


def modinfo(module: Path) -> dict[str, list[str]]:
    """Return the fields of a module's .modinfo section. A field can occur repeatedly."""
    fields: dict[str, list[str]] = {}
    for text in _section(module.read_bytes(), b".modinfo").split(b"\0"):
        name, equals, value = text.decode(errors="replace").partition("=")
        if equals:
            fields.setdefault(name, []).append(value)
    return fields


def depends(module: Path) -> list[str]:
    """Return the names of the modules that must be loaded before this module."""
    return [name for text in modinfo(module).get("depends", []) for name in text.split(",") if name]


def kinds(stem: str, texts: Iterable[str], aliases: Iterable[str], calls: bytes) -> Kinds:
    """Return the algorithms that a module with this file name registers, from the best available
    evidence.

    The best evidence is the module's C sources (`texts`). If these sources register no name, the
    function uses the module's aliases. If there are no aliases, the file name counts as the
    algorithm's name. In this case, the object code (`calls`) must refer to the functions that
    register algorithms.
    """
    qdiscs: list[str] = []
    ccs: list[str] = []
    for text in texts:
        qdiscs += _registered(text, "Qdisc_ops", "register_qdisc", "id")
        ccs += _registered(text, "tcp_congestion_ops", "tcp_register_congestion_control", "name")
    if not qdiscs:
        qdiscs = [
            alias.removeprefix("net-sch-") for alias in aliases if alias.startswith("net-sch-")
        ]
    guessed = False
    if not qdiscs and b"register_qdisc" in calls:
        qdiscs, guessed = [stem.removeprefix("sch_")], True
    if not ccs and b"tcp_register_congestion_control" in calls:
        ccs, guessed = [stem.removeprefix("tcp_")], True
    return Kinds(tuple(sorted(set(qdiscs))), tuple(sorted(set(ccs))), guessed)


def kinds_of(module: Path, sources: Sequence[Path]) -> Kinds:
    """Return the algorithms that a compiled module registers."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sources]
    return kinds(module.stem, texts, modinfo(module).get("alias", []), module.read_bytes())


def makefile(folder: Path) -> str | None:
    """Return a Makefile that builds every C file in the folder as a module.

    Return None if the folder has a Makefile.
    """
    if any((folder / name).exists() for name in ("Makefile", "Kbuild")):
        return None
    objects = [
        path.with_suffix(".o").name
        for path in sorted(folder.glob("*.c"))
        if not path.name.endswith(".mod.c")
        and IS_MODULE.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    if not objects:
        raise InputError(
            f"{folder}: no module in it: neither a Makefile nor a .c file with "
            "MODULE_LICENSE; add one of them"
        )
    return f"obj-m := {' '.join(objects)}\n"


def spelled(text: str) -> tuple[str, Path]:
    """Parse `NAME=DIR` or `DIR`. Without NAME, the name of the folder is the module's name."""
    name, equals, path = text.partition("=")
    if not equals:
        name, path = "", text
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise InputError(f"--module {text}: {path}: no such folder; name the folder of a module")
    name = name if equals else folder.name
    if not NAME.fullmatch(name):
        raise InputError(
            f'--module {text}: "{name}" is not a name for a module; '
            "use letters, digits, dots, dashes and underscores"
        )
    return name, folder


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a module's folder by path, without build products."""
    files: dict[str, bytes] = {}
    for base, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = Path(base, name)
            if name.startswith(".") or name.endswith(source.PRODUCTS) or not path.is_file():
                continue
            files[str(path.relative_to(folder))] = path.read_bytes()
    if not files:
        raise InputError(f"{folder}: no files in it; name the folder of a module")
    return files


def build(
    kit: Path, name: str, folder: Path, *, jobs: int, headers: Iterable[Path] = ()
) -> dict[str, Any]:
    """Build the modules of a folder for a guest kernel, and return their manifest.

    `headers` lists further files to copy next to the sources. Nothing is written to the folder. A
    version that is already built is reused. Other versions of a module with this name are kept.
    """
    facts = manifests.read(kit / kits.MANIFEST, manifests.KIT)
    tree, version = facts["source_tree"], facts["kernel"]
    if not Path(tree).exists():
        raise InputError(
            f"the source of the guest kernel is gone ({tree}); run: tailback kernel build"
        )
    check_place(kit)
    written = makefile(folder)
    files = content(folder)
    files.update((header.name, header.read_bytes()) for header in headers)
    if written is not None:
        files["Makefile"] = written.encode()
    if releases.of(version) < releases.COMPAT:
        files[COMPAT.name] = COMPAT.read_bytes()
    total = hashlib.sha256()
    for path, data in sorted(files.items()):
        total.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    digest = total.hexdigest()
    shelf = kit / "modules"
    done = shelf / f"{name}-{digest[:12]}"
    if not _sound(done):
        work = shelf / f".{done.name}.part"
        folders.remove(done, inside=shelf)
        folders.remove(work, inside=shelf)
        try:
            manifest = _compile(kit, version, name, folder, files, work / "build", jobs)
            manifest = {"name": name, "hash": digest, "from": str(folder), **manifest}
            for module in sorted((work / "build").rglob("*.ko")):
                module.rename(work / module.name)
            folders.remove(work / "build", inside=work)
            manifests.write(work / kits.SHELF, manifest)
            work.rename(done)
        finally:
            folders.remove(work, inside=shelf)
    name_it(shelf / name, done.name)
    return manifests.read(done / kits.SHELF, manifests.MODULE)


def _sound(shelf: Path) -> bool:
    try:
        manifest = manifests.read(shelf / kits.SHELF, manifests.MODULE)
    except InputError:
        return False
    return not kits.shelf_differences(shelf, manifest)


def name_it(link: Path, target: str) -> None:
    """Link a module's name to its newest version."""
    fresh = link.with_name(f".{link.name}.link")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def check_place(kit: Path) -> None:
    """Reject a guest kernel whose build folder was moved or copied. The folder's Makefile contains
    the old path, so make would write modules to the wrong folder.
    """
    makefile = kit / "build" / "Makefile"
    found = OUTPUT.search(makefile.read_text(encoding="utf-8"))
    if found is not None and Path(found[1]).resolve() != makefile.parent.resolve():
        raise InputError(
            f"the kernel was built in {found[1]} and is now in {makefile.parent.resolve()}, where "
            "modules cannot be built for it; move its cache back, or remove the kernel and run: "
            "tailback kernel build"
        )


def _compile(
    kit: Path,
    version: str,
    name: str,
    folder: Path,
    files: dict[str, bytes],
    work: Path,
    jobs: int,
) -> dict[str, Any]:
    for relative, data in files.items():
        path = work / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    flags = build_flags(version)
    if COMPAT.name in files:
        flags.append(f"KCPPFLAGS=-include {work / COMPAT.name}")
    try:
        process.run(["make", "-C", kit / "build", *flags, f"M={work}", f"-j{jobs}", "modules"])
    except process.CommandFailed as error:
        shown = "\n".join(diagnostics(error.lines)).replace(f"{work}/", "")
        raise TailbackError(f"module {name} ({folder}) does not build:\n{shown}") from error
    objects = sorted(work.rglob("*.ko"))
    if not objects:
        raise InputError(
            f"{folder}: its Makefile built no module; add a line obj-m := NAME.o to it"
        )
    sources = [path for path in work.rglob("*.c") if not path.name.endswith(".mod.c")]
    own = {path: _sources(path, sources, len(objects)) for path in objects}
    guessed = any(kinds_of(path, own[path]).guessed for path in objects)
    return {**describe(objects, own), "guessed": guessed}


def _sources(module: Path, sources: Sequence[Path], count: int) -> list[Path]:
    """Return the C sources of a module: the files with its name, or all files if the folder has
    only one module."""
    own = [path for path in sources if path.stem == module.stem]
    return own or (list(sources) if count == 1 else [])


def describe(objects: Sequence[Path], sources: dict[Path, list[Path]]) -> dict[str, Any]:
    """Return the entries of a manifest about these modules.

    The entries list files, hashes, and the algorithms that the modules register.
    """
    modules: dict[str, Any] = {}
    qdiscs: dict[str, str] = {}
    ccs: dict[str, str] = {}
    for path in objects:
        modules[path.stem] = {
            "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "depends": depends(path),
        }
        registers = kinds_of(path, sources.get(path, []))
        qdiscs.update(dict.fromkeys(registers.qdiscs, path.name))
        ccs.update(dict.fromkeys(registers.ccs, path.name))
    return {
        "qdisc": dict(sorted(qdiscs.items())),
        "cc": dict(sorted(ccs.items())),
        "modules": modules,
    }


def diagnostics(lines: Sequence[str]) -> list[str]:
    """Return the output of the compiler and linker, without make's own lines."""
    quiet = re.compile(r"  [A-Z][A-Z ]*(\[M\])?  ?\S|make(\[\d+\])?: (Entering|Leaving|\*\*\*)")
    return [line for line in lines if not quiet.match(line)] or list(lines)


def _registered(text: str, struct_name: str, function: str, field: str) -> list[str]:
    """Return the names that the C text registers: the values of `field` in structs that are passed
    to `function`."""
    names = []
    pattern = rf"struct\s+{struct_name}\s+(\w+)[^=;{{}}]*=\s*\{{(.*?)\n\}}\s*;"
    for match in re.finditer(pattern, text, re.DOTALL):
        if not re.search(rf"\b{function}\(\s*&{match[1]}\b", text):
            continue
        if named := re.search(rf'\.{field}\s*=\s*"([^"]+)"', match[2]):
            names.append(named[1])
    return names


def _section(data: bytes, wanted: bytes) -> bytes:
    """Return the content of a section of a 64-bit little-endian ELF file, or nothing if the section
    does not exist."""
    if data[:6] != b"\x7fELF\x02\x01":
        return b""
    [table] = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * n) for n in range(count)]
    names = headers[names_at][4]
    for header in headers:
        start = names + header[0]
        if data[start : data.index(b"\0", start)] == wanted:
            return data[header[4] : header[4] + header[5]]
    return b""
