"""Compiles programs that come with tailback, for `tailback kernel build --program NAME`.

The sources of these programs are in folders beside this file. The cache of guest kernels has the
results:

    programs/NAME-HASH/     NAME/, the results of the build, and program.json
    programs/NAME           a link to the version built last
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.base import folders, names
from tailback.errors import InputError, InputErrors, TailbackError
from tailback.kernel import contents, kit, manifest, modules, process
from tailback.kernel.programs import comments
from tailback.kernel.steps import Steps

HERE = Path(__file__).parent
MANIFEST = "program.json"
BUILT = "built:"
"""The prefix in a scenario's `files` that marks a program of tailback instead of a path."""
PROGRAM = "transfer"
"""File name of the program in each folder of sources."""

TARGET = "x86_64-unknown-linux-gnu"

SHAPE: Mapping[str, manifest.Check] = {
    "name": manifest.PLAIN,
    "hash": manifest.SHA256,
    "tool": manifest.LINE,
    "files": manifest.each(manifest.INSIDE, manifest.ENTRY),
}


@dataclass(frozen=True)
class BuildRecipe:
    """The instructions for building a program from its folder of sources."""

    folder: str
    compiler: tuple[str, ...] = ()
    """Command that prints the compiler's version. Another version of the compiler may produce a
    different program.
    """
    origin: str = ""
    """Where users can get the compiler."""
    words: tuple[str, ...] = ()
    """Command that compiles the program. tailback appends the path of the work folder to this
    command. The command writes the file `made` into that folder."""
    made: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    besides: Mapping[str, str] = field(default_factory=dict)
    """Other programs that the build needs, each with a hint on how to install it."""
    tools: Callable[[Path], dict[str, str]] | None = None
    """Function that puts tools that tailback can provide into a folder. The function returns the
    environment variables with which the build finds these tools."""


def _go(folder: str) -> BuildRecipe:
    # A statically linked program needs no files from the guest's root.
    return BuildRecipe(
        folder,
        compiler=("go", "version"),
        origin="https://go.dev/dl/",
        words=("go", "build", "-trimpath", "-ldflags=-s -w", "-o"),
        made=folder,
        env={"CGO_ENABLED": "0"},
    )


def _rust(folder: str, name: str, **more: Any) -> BuildRecipe:
    words = ("cargo", "build", "--release", "--locked", "--target", TARGET)
    # AWS-LC makes the keys of s2n-quic. Without this variable, AWS-LC would derive random numbers
    # from 150,000 readings of the processor's counter. The guest's kernel would have to answer each
    # reading.
    return BuildRecipe(
        folder,
        compiler=("rustc", "--version"),
        origin="https://rustup.rs/",
        words=(*words, "--bin", name, "--features", name, "--target-dir"),
        made=f"{TARGET}/release/{name}",
        env={
            "RUSTFLAGS": "-C target-feature=+crt-static -C strip=symbols",
            "AWS_LC_SYS_NO_JITTER_ENTROPY": "1",
        },
        **more,
    )


def _wheels(requirements: str | Path) -> tuple[str, ...]:
    """Return the command that installs packages from PyPI, checked by their hashes. The caller
    appends the target folder to the command.
    """
    words = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile")
    exact = ("--require-hashes", "--only-binary", ":all:", "-r", str(requirements))
    return (*words, *exact, "--target")


def _wheel(folder: str) -> BuildRecipe:
    """Return the recipe of a pure Python package, whose wheel works on every machine."""
    return BuildRecipe(folder, words=_wheels("requirements.txt"), made=".")


def _bindings(folder: Path) -> dict[str, str]:
    """Install the tools that BoringSSL's build needs: CMake, and Clang's library, which parses C
    headers."""
    process.run([*_wheels(HERE / "rust/tools.txt"), folder])
    # Clang's library comes without compiler headers, so use the headers of gcc.
    headers = process.run(["gcc", "-print-file-name=include"])[0]
    return {
        "CMAKE": str(folder / "cmake/data/bin/cmake"),
        "LIBCLANG_PATH": str(folder / "clang/native"),
        "BINDGEN_EXTRA_CLANG_ARGS": f"-I{headers}",
    }


RECIPES: Mapping[str, BuildRecipe] = {
    "aioquic": BuildRecipe("aioquic"),
    "flent": _wheel("flent"),
    "quic-go": _go("quic-go"),
    "quiche": _rust("rust", "quiche", besides={"g++": "sudo apt install g++"}, tools=_bindings),
    "quinn": _rust("rust", "quinn"),
    "s2n-quic": _rust("rust", "s2n-quic"),
}
"""The recipe of every program. A program without a compiler is a script, which is only copied."""


def all_names() -> list[str]:
    return list(RECIPES)


def check(wanted: Iterable[str]) -> None:
    """Raise one `InputError` for all names that are not a program, or that this machine cannot
    compile."""
    wrong = [names.unknown("program", one, all_names()) for one in wanted if one not in RECIPES]
    for name in dict.fromkeys(one for one in wanted if one in RECIPES):
        recipe = RECIPES[name]
        if recipe.compiler and shutil.which(recipe.compiler[0]) is None:
            program = recipe.compiler[0]
            wrong.append(f"{name} needs {program}, which is not here: {recipe.origin}")
        wrong += [
            f"{name} needs {program}, which is not here: {origin}"
            for program, origin in recipe.besides.items()
            if shutil.which(program) is None
        ]
    if wrong:
        raise InputErrors(*wrong)


def find(name: str) -> Path:
    """Return the folder of a built program. Raise `InputError` if the program has not been built,
    or has changed since the build."""
    if name not in RECIPES:
        raise InputError(names.unknown("program", name, all_names()))
    link = kit.cache() / "programs" / name
    command = f"{kit.COMMAND} --program {name}"
    if not (link / MANIFEST).exists():
        raise InputError(f"{name} is not built; run: {command}")
    folder = link.resolve()
    facts = manifest.read(folder / MANIFEST, SHAPE)
    # Earlier releases included comments in the hash, so also accept a hash with comments.
    if facts["hash"] not in (_digest(name, facts["tool"]), _digest(name, facts["tool"], True)):
        raise InputError(f"{name} was built from other sources; run: {command}")
    if said := _differences(folder, facts):
        raise InputError(
            f"{name} in {folder} has changed since it was built: {contents.listed(said)}; run: "
            f"{command}"
        )
    return folder / name


def key(path: Path) -> str:
    """Return how a scenario's `files` names a path: `built:NAME` for a program that tailback
    compiled, otherwise the path itself."""
    ours = path.parent.parent == (kit.cache() / "programs").resolve()
    return f"{BUILT}{path.name}" if ours else str(path)


def identity(path: Path) -> str:
    """Return the hash of all files of a built program."""
    found = contents.of(path.parent, [path.name])
    return hashlib.sha256(
        "\n".join(f"{at} {what}" for at, what in found.items()).encode()
    ).hexdigest()


def build(name: str, *, steps: Steps) -> Path:
    """Build a program, unless this compiler has built it from these sources. Return its folder."""
    check([name])
    recipe, shelf = RECIPES[name], kit.cache() / "programs"
    version = _version(recipe)
    digest = _digest(name, version)
    done = shelf / f"{name}-{digest[:12]}"
    if not _sound(done):
        shelf.mkdir(parents=True, exist_ok=True)
        steps.step(f"building {name}")
        work = shelf / f".{done.name}.{os.getpid()}.part"
        folders.remove(done, inside=shelf)
        try:
            (work / name).mkdir(parents=True)
            _make(name, recipe, work)
            facts = {
                "name": name,
                "hash": digest,
                "tool": version,
                "files": contents.of(work, [name]),
            }
            manifest.write(work / MANIFEST, facts)
            work.rename(done)
        finally:
            folders.remove(work, inside=shelf)
    modules.name_it(shelf / name, done.name)
    return done / name


def _make(name: str, recipe: BuildRecipe, work: Path) -> None:
    source, target = HERE / recipe.folder, work / name / PROGRAM
    if not recipe.words:
        shutil.copy2(source / PROGRAM, target)
        target.chmod(0o755)
        return
    # Build in a temporary folder, so that nothing is written next to the sources.
    build = work / "build"
    shutil.copytree(source, build / "source")
    (build / "made").mkdir()
    added = dict(recipe.env)
    try:
        if recipe.tools is not None:
            added |= recipe.tools(build / "tools")
        env = process.environment(added)
        process.run([*recipe.words, build / "made"], cwd=build / "source", env=env)
    except process.CommandFailed as error:
        raise TailbackError(f"{name} does not build:\n{error}") from error
    made = build / "made" / recipe.made
    if made.is_dir():
        shutil.copytree(made, target.parent, dirs_exist_ok=True)
    else:
        shutil.copy2(made, target)
    folders.remove(build, inside=work)


def _version(recipe: BuildRecipe) -> str:
    if not recipe.compiler:
        return "none"
    return process.run(recipe.compiler)[0]


def _digest(name: str, tool: str, with_comments: bool = False) -> str:
    """Return the hash of everything that a program is built from, except the comments in its
    sources."""
    recipe = RECIPES[name]
    # Do not hash the path of the Python interpreter, which differs between machines.
    words = [word for word in recipe.words if word != sys.executable]
    total = hashlib.sha256(f"{name} {tool} {words} {sorted(recipe.env.items())}".encode())
    for path, what in contents.of(HERE, [recipe.folder]).items():
        if not with_comments and path.endswith(comments.SUFFIXES):
            text = comments.without_comments((HERE / path).read_text(encoding="utf-8"))
            what = hashlib.sha256(text.encode()).hexdigest()
        total.update(f"\n{path} {what}".encode())
    return total.hexdigest()


def _sound(folder: Path) -> bool:
    try:
        facts = manifest.read(folder / MANIFEST, SHAPE)
    except InputError:
        return False
    return not _differences(folder, facts)


def _differences(folder: Path, facts: Mapping[str, Any]) -> list[str]:
    return contents.differences(facts["files"], contents.of(folder, [facts["name"]]))
