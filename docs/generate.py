"""Writes the reference pages from the registries: docs/reference.md and
docs/scenario.schema.json. With `--check` it only says whether they are current."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tailback import experiments, metrics
from tailback._native import json_schema, registry_json
from tailback.cli.listing import type_of

HERE = Path(__file__).resolve().parent

SECTIONS = (
    ("cc", "Congestion controls", 'In a scenario: `cc = "NAME"` or `cc = { name = "NAME", ... }`.'),
    ("aqm", "Queues", 'In a scenario: `queue = { aqm = "NAME", ... }`.'),
    ("traffic", "Traffic", 'In a scenario: `[[traffic]]` with `kind = "NAME"`.'),
)

HEAD = """\
# Reference

Made by `make docs` from the registries of the engine; `tailback list --options`
prints the same. Times, rates and sizes are written as for tc: `20ms`,
`100Mbit`, `1000p` (packets), `64kb` (1 kb = 1024 bytes), `0.5bdp` (bottleneck
rate x path RTT). An option that is left out has the default shown; where none
is shown its meaning says what happens.
"""


def reference() -> str:
    """The reference page."""
    registry = json.loads(registry_json())
    return "\n".join([HEAD, *_sections(registry), *_metrics()])


def _sections(registry: dict[str, Any]) -> Iterator[str]:
    for kind, title, usage in SECTIONS:
        yield f"## {title}\n\n{usage}\n"
        for entry in registry[kind]:
            yield f"### {entry['name']}\n\n{entry['doc']}\n"
            kernel = f"`{entry['kernel']}`" if entry["kernel"] else "has nothing like it"
            yield f"Follows {entry['follows']}. Linux: {kernel}.\n"
            rows = list(_options(entry["options"]))
            if rows:
                yield "| option | type | default | meaning | tc |"
                yield "|---|---|---|---|---|"
                yield from rows
                yield ""


def _options(options: list[dict[str, Any]], prefix: str = "") -> Iterator[str]:
    for option in options:
        name = f"{prefix}{option['name']}"
        default = f"`{option['default']}`" if option["default"] is not None else ""
        tc = f"`{option['tc']}`" if option["tc"] else ""
        cells = (f"`{name}`", type_of(option), default, option["doc"], tc)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        yield from _options(option.get("options", []), f"{name}.")


def _metrics() -> Iterator[str]:
    yield "## Metrics\n\nComputed from what a run recorded; `[[assert]]` takes these names.\n"
    yield "| metric | of a | unit | meaning |"
    yield "|---|---|---|---|"
    for metric in metrics.METRICS:
        yield f"| `{metric.name}` | {metric.on} | {metric.unit} | {metric.doc} |"
    yield ""


def schema() -> str:
    """The JSON Schema of scenario files."""
    return json.dumps(json.loads(json_schema()), indent=1, ensure_ascii=False) + "\n"


def picture() -> str:
    """The figure of the README: Figure 5 of the first experiment."""
    with TemporaryDirectory() as folder:
        done = experiments.get("dctcp-internet-2014").run(
            ["fig5"],
            quick=False,
            seeds=None,
            jobs=None,
            out=Path(folder),
            progress=None,
            engine="sim",
        )
        return (Path(done.report_dir) / "figures" / "fig5.svg").read_text(encoding="utf-8")


def main() -> None:
    """Writes the pages, or checks those that are quick to make."""
    pages = {HERE / "reference.md": reference(), HERE / "scenario.schema.json": schema()}
    if sys.argv[1:] == ["--check"]:
        stale = [p.name for p, text in pages.items() if not p.exists() or p.read_text() != text]
        if stale:
            raise SystemExit(f"not current, run `make docs`: {', '.join(stale)}")
        return
    pages[HERE / "picture.svg"] = picture()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(HERE.parent))


if __name__ == "__main__":
    main()
