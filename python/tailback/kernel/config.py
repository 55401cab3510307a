"""Writes the kernel's configuration from fragments, and checks that the kernel accepted their
options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.base import foreign
from tailback.errors import InputError
from tailback.kernel import releases

HERE = Path(__file__).parent
OURS = HERE / "kernel.config"
KCONFIG = HERE / "kernel.kconfig"
MAX_FRAGMENT = 1 << 20
"""The largest size of a fragment, in bytes."""
# In a fragment, the options after this line may be missing in older trees.
OPTIONAL_MARK = "# tailback: optional"
DEVELOPED = re.compile(r"CONFIG_(NET_SCH|TCP_CONG)_\w+")


@dataclass(frozen=True)
class Fragment:
    """Kernel options and their values."""

    name: str
    """Origin of the options: a path, or a name for tailback's own fragments."""
    options: Mapping[str, str]
    """Value of each option as in .config: y, m, a number or a quoted text. Options that are not set
    have the value n."""
    optional: frozenset[str] = frozenset()
    """Options that a tree may not have."""

    def text(self) -> str:
        return "".join(f"{option}={value}\n" for option, value in self.options.items())


def parse(text: str, name: str) -> Fragment:
    """Parse a fragment. A line that is neither an option nor a comment is an error."""
    options: dict[str, str] = {}
    optional: set[str] = set()
    passed_mark = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if unset := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
            option, value = unset[1], "n"
        elif assigned := re.fullmatch(r"(CONFIG_\w+)=(.+)", line):
            option, value = assigned[1], assigned[2]
        elif not line or line.startswith("#"):
            passed_mark = passed_mark or line == OPTIONAL_MARK
            continue
        else:
            raise InputError(
                f'{name}:{number}: expected "CONFIG_NAME=value" or "# CONFIG_NAME is not set"'
            )
        options[option] = value
        if passed_mark:
            optional.add(option)
    return Fragment(name, options, frozenset(optional))


def load(path: Path) -> Fragment:
    """Read a fragment from a file that the user names."""
    try:
        return parse(foreign.read(path, limit=MAX_FRAGMENT).decode(), str(path))
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: not UTF-8 text; name a file of kernel options in UTF-8"
        ) from None


def ours() -> Fragment:
    """Read the guest kernel's own fragment."""
    return parse(OURS.read_text(encoding="utf-8"), "the guest kernel's configuration")


def older(version: str) -> list[Fragment]:
    """Return fragments for an older kernel, in which some of the guest kernel's options have other
    names.
    """
    options = {k: v for one in releases.helps(version) for k, v in one.options.items()}
    name = f"the guest kernel's configuration for {releases.text(version)}"
    return [Fragment(name, options)] if options else []


def recipe(fragments: Sequence[Fragment]) -> str:
    """Return everything that determines the configuration, as text for a hash."""
    return "".join(fragment.text() for fragment in fragments) + KCONFIG.read_text(encoding="utf-8")


def kconfig(tree: str) -> str:
    """Insert tailback's menu into the top Kconfig of a tree. The tree's title must remain the first
    entry."""
    lines = tree.splitlines(keepends=True)
    title = next((n for n, line in enumerate(lines) if line.startswith("mainmenu")), -1)
    return "".join([*lines[: title + 1], KCONFIG.read_text(encoding="utf-8"), *lines[title + 1 :]])


def values(dot_config: str) -> dict[str, str]:
    """Return the options of a finished .config. Options that are not set have the value n."""
    return dict(parse(dot_config, ".config").options)


def refused(fragments: Sequence[Fragment], final: Mapping[str, str]) -> dict[str, list[str]]:
    """For each fragment, return the options whose value in the finished .config differs from the
    value in the fragment. An option is described by a text such as "CONFIG_X=m (is y)".

    If several fragments set an option, only the last of these fragments is checked.
    """
    asked: dict[str, tuple[Fragment, str]] = {}
    for fragment in fragments:
        for option, value in fragment.options.items():
            asked[option] = (fragment, value)
    wrong: dict[str, list[str]] = {}
    for option, (fragment, value) in asked.items():
        got = final.get(option)
        if value == (got if got is not None else "n"):
            continue
        if got is None and option in fragment.optional:
            continue
        said = (
            f"is {got}"
            if got is not None
            else "this tree does not have this option, or its dependencies are off"
        )
        wrong.setdefault(fragment.name, []).append(f"{option}={value} ({said})")
    return wrong


def digest(dot_config: str) -> str:
    """Return the hash of a finished configuration, without the options that describe the
    compiler."""
    compiler = re.compile(r"CONFIG_(CC|GCC|CLANG|AS|LD|LLD|RUSTC|PAHOLE|BINDGEN)_\w+")
    lines = [
        f"{option}={value}"
        for option, value in sorted(values(dot_config).items())
        if value != "n" and not compiler.fullmatch(option)
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
