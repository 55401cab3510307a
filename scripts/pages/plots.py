"""Makes the figures of docs/how-to/plot.md: runs its sweep, then every `tailback plot` command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from pages import HOW_TO, ROOT

PAGE = HOW_TO / "plot.md"


def commands(page: str) -> list[list[str]]:
    """Return the arguments of each command in the page's shell blocks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, flags=re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("tailback ")]


def main(results: Path) -> None:
    """Run the commands of a page. The working directory of the commands is the folder of the
    figures. The runs are stored in the folder `results`."""
    for action, first, *rest in commands(PAGE.read_text(encoding="utf-8")):
        if action == "plot":
            words = [action, str(results), first, *rest]
        else:
            words = [action, str(ROOT / first), *rest, "--out", str(results)]
        subprocess.run([sys.executable, "-m", "tailback", *words], cwd=HOW_TO / "plot", check=True)
