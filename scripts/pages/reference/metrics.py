"""Writes docs/reference/metrics.md: the metrics of a run, and the quantities recorded over time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tailback import metrics
from tailback._native import registry_json

HEAD = """\
# Metrics and series

A metric is a number computed from a run, such as the mean queue delay of a link. A series is a
quantity over time. [What is measured](measurements.md) defines the quantities. `tailback list
metrics --options` prints the metrics.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_metrics(), *_series()])


def _metrics() -> Iterator[str]:
    of_two = (f"`{m.path}`" for m in metrics.METRICS if m.of_two is not None)
    yield (
        "## Metrics\n\nThe first column of the table below contains the names that Polars frames "
        "and printed tables use. The column *in JSON* contains the names that JSON uses. "
        "`--metric`, `--fail-if`, `plot`, `tune` and `[[assert]]` accept the names of both "
        "columns.\n\n[Harm](measurements.md#comparisons) is the fraction by which a "
        "competitor worsens the performance of a flow. To measure harm, tailback needs a second "
        "run without the competitor. So the following metrics of harm exist only in comparisons, "
        'in `[[assert]]` with `without = "NAME"`, and in `plot --without NAME`: '
        f"{', '.join(of_two)}.\n"
    )
    yield (
        "The scope of a metric is the kind of object that it measures. The scope `flow` includes "
        "programs and sources of traffic. Metrics of several scopes can share one name, such "
        "as `link.drops`, `flow.drops` and `class.drops`. Without a scope, `drops` means "
        "`link.drops`. In `compare --metric`, however, `drops` means `link.drops`, `flow.drops` "
        "and `class.drops`. To select one link, flow or class, append its name, as in "
        "`drops@bottleneck` and `drops@cubic`.\n"
    )
    yield (
        f"Every command shows {metrics.RULE}. The mean omits runs in which the metric has no "
        "value; `n` is the number of runs in the mean. If a flow did not finish, tables show a "
        "lower bound for `completion_s` instead of the mean.\n"
    )
    yield (
        "The measured time of a flow begins at its start or at the end of the warm-up, whichever "
        "is later. The measured time of a flow ends when the flow stops or completes, or at the "
        "end of the run.\n"
    )
    columns = ("metric", "scope", "unit", "in JSON", "meaning", "computed from")
    yield f"| {' | '.join(columns)} |"
    yield "|---|---|---|---|---|---|"
    for metric in metrics.METRICS:
        yield (
            f"| `{metric.name}` | {metric.on} | {metric.unit} | `{metric.path}` | {metric.doc} | "
            f"{metrics.WEIGHTS[metric.weight]} |"
        )
    yield ""


def _series() -> Iterator[str]:
    yield "## Series\n"
    yield (
        "tailback samples the following quantities during a run and writes them to "
        "`series.parquet`. The file also contains gauges: internal values of congestion "
        "controls and queues, such as DCTCP's alpha.\n"
    )
    yield "| quantity | scope | unit | meaning | recorded |"
    yield "|---|---|---|---|---|"
    for quantity in json.loads(registry_json())["series"]:
        cells = (quantity[key] for key in ("on", "unit", "doc", "when"))
        yield f"| `{quantity['name']}` | {' | '.join(cells)} |"
    yield ""
