"""Fills docs/how-to/explain.md: runs its commands, inserts their output, and draws its figures.

The command for this page is `python scripts/generate.py --page explain`. tests/test_explain_page.py
compares the commands' output with the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import DOCS, EXAMPLES, HOW_TO

PAGE = HOW_TO / "explain.md"
FOLDER = HOW_TO / "explain"
BLOCK = re.compile(r"^```text\n(\$ .*?)^```", flags=re.M | re.S)


def filled(page: str, results: Path) -> str:
    """Run the page's commands in `results`, and return the page with their output."""
    results.mkdir(parents=True, exist_ok=True)
    for folder in (DOCS, EXAMPLES):
        if not (results / folder.name).exists():
            (results / folder.name).symlink_to(folder)
    return BLOCK.sub(lambda block: f"```text\n{_printed(block[1], results)}```", page)


def _printed(block: str, place: Path) -> str:
    out = []
    for line in block.splitlines():
        if not line.startswith("$ tailback "):
            continue
        words = shlex.split(line)[2:]
        environment = os.environ | {"TAILBACK_PROGRESS": "off", "COLUMNS": "100"}
        done = subprocess.run(
            [sys.executable, "-m", "tailback", *words],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        out.append(line)
        out += [text.rstrip() for text in (done.stdout + done.stderr).splitlines()]
    return "\n".join(out) + "\n"


def causes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the scenario for each known cause."""
    tables = tomllib.loads((FOLDER / "causes.toml").read_text(encoding="utf-8"))
    base = tables.pop("base")
    for name, own in tables.items():
        yield name, {**base, **own}


def figures(results: Path) -> None:
    """Draw the shares of time in which each cause limited a flow, and the throughputs of CUBIC and
    DCTCP over time."""
    import polars as pl

    import tailback
    from tailback.explain import explain, words
    from tailback.figures import export
    from tailback.figures.shares import shares
    from tailback.figures.time_series import time_series

    rows = {}
    for name, scenario in causes():
        found = explain(tailback.run(scenario, out=results, progress=False)[0].stored)
        wanted = found.flows[-1] if "source" in name else found.flows[0]
        rows[name] = {words.SHORT_LIMITS[k]: v for k, v in wanted["shares"].items()}
    chart = shares(
        rows,
        parts=list(words.SHORT_LIMITS.values()),
        x_title="share of the flow's time",
        part_title="held back by",
    )
    _write("causes", export.svg(export.spec(chart)))

    run = tailback.run(FOLDER / "cubic-dctcp.toml", out=results, progress=False)[0]
    second = (pl.col("time_ns") // 1_000_000_000).alias("time_s")
    rates = (
        run.series()
        .filter(pl.col("quantity") == "delivered_bytes")
        .group_by("flow", second, maintain_order=True)
        .agg(pl.col("value").max())
        .sort("flow", "time_s")
        .with_columns(pl.col("value").diff().over("flow") * 8e-6)
        .drop_nulls()
        .filter(pl.col("time_s").is_between(10, 120))
    )
    chart = time_series(
        rates, y_title="throughput, Mbit/s", order=["cubic", "dctcp"], series="flow", height=180
    )
    _write("cubic-dctcp", export.svg(export.spec(chart)))


def _write(name: str, svg: str) -> None:
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


def main(results: Path) -> None:
    """Write the page and its figures."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(page, results), encoding="utf-8")
    figures(results / "results")
