"""Runs every search of docs/how-to/tune.md, and makes the page's figures and tables."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import HOW_TO, ROOT

PAGE = HOW_TO / "tune.md"
PLACE = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- end -->", re.S)


def commands(page: str) -> list[list[str]]:
    """Return the arguments of each command in the page's shell blocks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, flags=re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("tailback ")]


def search(words: list[str], out: Path) -> dict[str, Any]:
    """Run `tailback` with these arguments, and return the parsed JSON output."""
    done = subprocess.run(
        [sys.executable, "-m", "tailback", *words, "--out", str(out), "--json"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(found: dict[str, Any]) -> Iterator[str]:
    """Yield a Markdown table of the Pareto front and the defaults."""
    goals = [goal["metric"] for goal in found["goals"]]
    paths = list(found["vary"])
    head = ["point", *(path.rpartition(".")[2] for path in paths)]
    for goal in goals:
        head += [f"{goal}, search", "unseen seeds", "against the defaults, %"]
    yield f"| {' | '.join(head)} |"
    yield "|" + "--:|" * (1 + len(paths)) + "--:|" * (3 * len(goals))
    search, unseen = found["defaults"]["search"], found["defaults"]["unseen"]
    cells = ["defaults", *("" for _ in paths)]
    for goal in goals:
        cells += [number(search[goal]), spread(unseen[goal]), ""]
    yield f"| {' | '.join(cells)} |"
    for point in found["front"]:
        if point["unseen"] is None:
            continue
        cells = [str(point["point"]), *(str(word) for word in point["values"].values())]
        for goal in goals:
            differs = point["difference"][goal]
            word = "" if differs["answer"] == "same" else f" {differs['answer']}"
            share = f"{100 * differs['relative']:+.1f}{word}"
            cells += [number(point["search"][goal]), spread(point["unseen"][goal]), share]
        yield f"| {' | '.join(cells)} |"
    first, last = found["unseen_seeds"]
    runs = len(found["candidates"]) * found["runs_per_candidate"]
    yield ""
    on, compared = len(found["front"]), found["compared"]
    part = "" if compared == on else f", of which tailback compared {compared} with the defaults"
    yield (
        f"*The search*: {len(found['candidates'])} candidates in {runs} runs gave a Pareto front "
        f"of {on} points{part}. The columns *unseen seeds* show the mean over the seeds {first} to "
        f"{last}. The number after ± is half the width of the 95 % interval of this mean."
    )


def number(value: float) -> str:
    """Format a number with four digits."""
    return f"{value:.4g}"


def spread(found: dict[str, Any]) -> str:
    """Format a mean with the half-width of its confidence interval."""
    half = found["ci95"]
    return number(found["mean"]) + (f" ±{half:.2g}" if half else "")


def main(out: Path) -> None:
    """Write the page and its figures."""
    page = PAGE.read_text(encoding="utf-8")
    names = PLACE.findall(page)
    made: dict[str, str] = {}
    for name, words in zip(names, commands(page), strict=True):
        found = search(words, out)
        figures = out / "tunings" / found["id"] / "figures"
        for figure in ("front", "values"):
            file = f"tune/{name}-{figure}.svg"
            if figure == "front" or file in page:
                shutil.copy(figures / f"{figure}.svg", HOW_TO / file)
        goals = " against ".join(goal["metric"] for goal in found["goals"])
        alt = f"Candidates, front and defaults: {goals}"
        lines = [f"![{alt}](tune/{name}-front.svg)", "", *table(found)]
        made[name] = "\n".join(lines)
    text = PLACE.sub(lambda m: f"<!-- {m[1]} -->\n{made[m[1]]}\n<!-- end -->", page)
    PAGE.write_text(text, encoding="utf-8")
