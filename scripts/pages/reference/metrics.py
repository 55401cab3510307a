"""Writes docs/reference/metrics.md: the metrics of a run, and the quantities recorded over time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tailback import metrics
from tailback._native import registry_json

HEAD = """\
# Metrics and series

`make pages` writes this page from the metrics and the engine's registry. `tailback list metrics
--options` prints the metrics. [What is measured](measurements.md) defines the quantities.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_metrics(), *_series()])


def _metrics() -> Iterator[str]:
    of_two = (f"`{m.path}`" for m in metrics.METRICS if m.of_two is not None)
    yield (
        "## Metrics\n\ntailback computes metrics from the data that a run recorded. Frames and "
        "tables use the name in the first\ncolumn, and JSON uses the name in the column *in "
        "JSON*. `--metric`, `--fail-if`, `plot`, `tune` and `[[assert]]` accept both names. "
        f"{', '.join(of_two)} need a run without the competitor. They can be used in comparisons, "
        'in `[[assert]]` with `without = "NAME"`, and in `plot --without NAME`.\n'
    )
    yield (
        "A scope before the name says what the metric belongs to: `link.drops`, `flow.drops`, "
        "`class.drops`.\nIf a metric exists in several scopes, its name without a scope means the "
        "metric of the link; for `compare --metric`\nthe name means the metrics of all scopes. A "
        "name after an `@` chooses one link, flow or class: `drops@bottleneck`, `drops@cubic`.\n"
        "The scope `flow` includes programs and sources of traffic.\n"
    )
    rule = metrics.RULE[0].upper() + metrics.RULE[1:]
    yield f"Every command pools the seeds of a point by the same rule. {rule}.\n"
    columns = ("metric", "of a", "unit", "in JSON", "meaning", "weight within a run")
    yield f"| {' | '.join(columns)} | if a run has no value |"
    yield "|---|---|---|---|---|---|---|"
    for metric in metrics.METRICS:
        yield (
            f"| `{metric.name}` | {metric.on} | {metric.unit} | `{metric.path}` | {metric.doc} | "
            f"{metrics.WEIGHTS[metric.weight]} | {metric.missing} |"
        )
    yield ""


def _series() -> Iterator[str]:
    yield "## Series\n"
    yield (
        "A run samples these quantities over time and writes them to `series.parquet`, together "
        "with the gauges of algorithms.\n"
    )
    yield "| quantity | of a | unit | meaning | recorded |"
    yield "|---|---|---|---|---|"
    for quantity in json.loads(registry_json())["series"]:
        cells = (quantity[key] for key in ("on", "unit", "doc", "when"))
        yield f"| `{quantity['name']}` | {' | '.join(cells)} |"
    yield ""
