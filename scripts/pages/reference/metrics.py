"""Writes docs/reference/metrics.md: the metrics of a run, and the quantities recorded over time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tailback import metrics
from tailback._native import registry_json

HEAD = """\
# Metrics and series

A metric is a number about a run, such as the mean queue delay of a link. A series is a quantity
over time. [What is measured](measurements.md) defines the quantities. `tailback list metrics
--options` prints the metrics. `make pages` writes this page.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_metrics(), *_series()])


def _metrics() -> Iterator[str]:
    of_two = (f"`{m.path}`" for m in metrics.METRICS if m.of_two is not None)
    yield (
        "## Metrics\n\ntailback computes metrics from the data that a run recorded. Polars "
        "frames and tables use the name in the\nfirst column, and JSON uses the name in the "
        "column *in JSON*. `--metric`, `--fail-if`, `plot`, `tune` and `[[assert]]` accept both "
        "names. The metrics of harm need a second run without the competitor. Use them in "
        'comparisons, in `[[assert]]` with `without = "NAME"`, and in `plot --without NAME`. They '
        f"are {', '.join(of_two)}.\n"
    )
    yield (
        "A scope before the name selects the object that the metric is about: `link.drops`, "
        "`flow.drops`, `class.drops`.\nIf a metric exists in several scopes, its name without a "
        "scope means the metric of the link. For `compare --metric`\nit means the metrics of all "
        "scopes. A "
        "name after an `@` chooses one link, flow or class: `drops@bottleneck`, `drops@cubic`.\n"
        "The scope `flow` includes programs and sources of traffic.\n"
    )
    yield (
        f"Every command combines the seeds of a point by the same rule and shows {metrics.RULE}.\n"
    )
    columns = ("metric", "scope", "unit", "in JSON", "meaning", "what counts within a run")
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
        "with the gauges: values that congestion controls and queues record about their state.\n"
    )
    yield "| quantity | scope | unit | meaning | recorded |"
    yield "|---|---|---|---|---|"
    for quantity in json.loads(registry_json())["series"]:
        cells = (quantity[key] for key in ("on", "unit", "doc", "when"))
        yield f"| `{quantity['name']}` | {' | '.join(cells)} |"
    yield ""
