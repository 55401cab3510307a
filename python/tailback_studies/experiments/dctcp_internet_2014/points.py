"""Plans the runs for the figures, and computes the figures' values.

A batch is a scenario, possibly with changes. Figures can share a batch. All batches of a call run
together.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tailback.metrics.crossing import Crossing, crossing
from tailback.metrics.jain import jain
from tailback.metrics.statistics import estimate
from tailback_studies.reproduction import sources

# Bandwidth-delay product in the paper (10 Mbit/s x 25 ms), in bytes.
BDP = 31_250
# Size of a frame in bytes.
FRAME = 1_500
# Values of Min_Thresh_Reno (in BDP) in Table I: as text in names of scenario files, and as numbers.
ROWS: tuple[tuple[str, float], ...] = (
    ("0.125", 0.125),
    ("0.25", 0.25),
    ("0.5", 0.5),
    ("0.707", 0.70711),
    ("1", 1.0),
)
# Batches whose first runs the figures draw over time.
DRAWN = ("fig1", "fig2")

# With these settings, Linux sends frames of 1500 B, as in the paper. The frame size includes the
# Ethernet header.
LINUX_FRAMES: Mapping[str, Any] = {"tcp.mss": 1434, "tcp.header": 66, "path.offloads": False}

ECN = "bottleneck.queue.ecn"
CLASSIC = "bottleneck.queue.classic"


def scenario(name: str) -> dict[str, Any]:
    """Read a scenario file of the experiment."""
    return sources.scenario(__package__, name)


@dataclass(frozen=True)
class DctcpBatch:
    """A scenario to run, with changes to this scenario."""

    name: str
    scenario: dict[str, Any]
    set: dict[str, Any] = field(default_factory=dict)
    # Largest number of seeds, or None if there is no limit.
    most_seeds: int | None = None


@dataclass(frozen=True)
class Option:
    """An alternative value of a setting, to be tried."""

    id: str
    # The alternative value, as text for the table.
    title: str
    # The changed values, by path.
    set: Mapping[str, Any]
    # The rows of the ablation table for which to try the alternative value.
    rows: tuple[str, ...] = ("step-0.125", "step-1", "slope-0.5")


# --- batches -----------------------------------------------------------------------------------


def thin(made: dict[str, Any], keep: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the scenario, reduced to the steps of its zipped axes that `keep` accepts."""
    out = copy.deepcopy(made)
    for zipped in out.get("sweep", {}).get("zip", []):
        keys = list(zipped)
        rows = [dict(zip(keys, row, strict=True)) for row in zip(*zipped.values(), strict=True)]
        kept = [row for row in rows if keep(row)] or rows[:1]
        for key in keys:
            zipped[key] = [row[key] for row in kept]
    return out


def every(made: dict[str, Any], step: int) -> dict[str, Any]:
    """Return a scenario with every `step`-th step of its zipped axes, and also their last step."""
    count = len(next(iter(made["sweep"]["zip"][0].values())))
    wanted = iter([i % step == 0 or i == count - 1 for i in range(count)])
    return thin(made, lambda _row: next(wanted))


def bdp_size(value: Any, bdp: float = BDP) -> float:
    """Return a size in bandwidth-delay products (BDP). `value` is in bytes, or text such as
    "0.5bdp"."""
    if isinstance(value, str):
        if value.endswith("bdp"):
            return float(value[:-3])
        return float(value.removesuffix("b")) / bdp
    return float(value) / bdp


def plan(
    parts: Iterable[str],
    options: Sequence[Option],
    readings: Sequence[tuple[str, dict[str, Any]]],
    *,
    quick: bool,
    engine: str = "sim",
) -> dict[str, DctcpBatch]:
    """Return the batches for these parts of the experiment, by name."""
    wanted = set(parts)
    out: dict[str, DctcpBatch] = {}
    frames = {} if engine == "sim" else LINUX_FRAMES

    def add(
        name: str,
        document: dict[str, Any],
        changes: Mapping[str, Any] | None = None,
        most_seeds: int | None = None,
    ) -> None:
        shorter = _quick(document) if quick else {}
        values = {**frames, **shorter, **(changes or {})}
        out[name] = DctcpBatch(name, document, values, most_seeds)

    if "fig1" in wanted:
        add("fig1", scenario("fig1"), most_seeds=1)
    if "fig2" in wanted:
        add("fig2", scenario("fig2"), most_seeds=1)
    if wanted & {"fig5", "table1"}:
        for tag, m in ROWS:
            document = scenario(f"fig5-m{tag}")
            add(f"step-{tag}", near_equal_share(document, m, 8) if quick else document)
    if "table1" in wanted:
        add("two-reno", scenario("table1-two-reno"))
    if "fig6" in wanted:
        document = scenario("fig6")
        if quick:
            document["sweep"]["flows.dctcp.count"] = [1, 3, 5]
        add("fig6", document)
    if wanted & {"fig7", "fig8", "fig9"}:
        document = scenario("slope")
        if quick:
            document = every(document, 3)
            key = f"{ECN}.probability"
            document["sweep"][key] = document["sweep"][key][1::3]
        add("slope", document)
    if "fig9" in wanted:
        document = scenario("formula3")
        # Do not shorten these runs, because the noise of short runs would lower Jain's index.
        add("formula3", every(document, 3) if quick else document, _LONG)
    if "fig10" in wanted:
        for width in ("bdp", "min"):
            document = scenario(f"fig10-width-{width}")
            add(f"fig10-{width}", every(document, 3) if quick else document)
    if "bdp" in wanted:
        document = scenario("bdp")
        if quick:
            document["sweep"]["bottleneck.rate"] = ["2.5Mbit", "10Mbit", "40Mbit"]
        add("bdp", document)
    short = {"duration": "45s", "warmup": "5s"} if quick else {"duration": "110s"}
    most = 1 if quick else None
    if "readings" in wanted:
        for name, changes in readings:
            for batch, document in _reading().items():
                length = _LONG if batch == "formula3" else short
                add(f"readings/{name}/{batch}", document, {**length, **changes}, most or 2)
    if "ablation" in wanted:
        bases = _ablation_bases(quick=quick)
        for row, document in bases.items():
            add(f"ablation/baseline/{row}", document, short, most)
        for option in options:
            for row in option.rows:
                add(f"ablation/{option.id}/{row}", bases[row], {**short, **option.set}, most)
    return out


_LONG = {"duration": "210s", "warmup": "10s"}


def _reading() -> dict[str, dict[str, Any]]:
    """Return the scenarios that every combination of the open settings runs.

    The scenarios are rows of Table I with thresholds near equal rates, two Reno flows,
    and formula (3).
    """
    out: dict[str, dict[str, Any]] = {}
    for tag, m in ROWS:
        made = scenario(f"fig5-m{tag}")
        made["sweep"]["zip"] = [steps(range(3, 10))] if m < 0.2 else made["sweep"]["zip"]
        out[f"step-{tag}"] = made if m < 0.2 else near_equal_share(made, m, 9)
    out["two-reno"] = scenario("table1-two-reno")
    out["formula3"] = thin(
        scenario("formula3"), lambda row: row[f"{ECN}.min"] in ("0.125bdp", "0.25bdp", "0.5bdp")
    )
    return out


def steps(frames: Iterable[int]) -> dict[str, list[str]]:
    """Return a zipped axis of thresholds. Each threshold is half a frame below a whole number of
    frames.
    """
    sizes = [f"{FRAME * n - FRAME // 2}b" for n in frames]
    return {f"{ECN}.min": sizes, f"{ECN}.max": sizes}


def lengths(batch: DctcpBatch) -> tuple[str, str]:
    """Return the duration and warm-up of a batch, as texts."""
    return tuple(  # type: ignore[return-value]
        str(batch.set.get(key, batch.scenario.get(key, ""))) for key in ("duration", "warmup")
    )


def _quick(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shorter duration and warm-up of a quick run.

    Runs whose series are drawn are already short.
    """
    if made["record"].get("series") == "changes":
        return {}
    return {"duration": "45s", "warmup": "5s"}


def near_equal_share(document: dict[str, Any], m: float, most: int) -> dict[str, Any]:
    """Return the scenario with at most `most` values of DCTCP's marking threshold, near the
    threshold that gives both flows equal rates. The largest value is about 2.4 times
    Min_Thresh_Reno if Min_Thresh_Reno is BDP/8, and 1.6 times if it is one BDP."""
    top = 1.6 + 0.9 * (1.0 - m)
    values = document["sweep"]["zip"][0][f"{ECN}.min"]
    near = [k for k in values if bdp_size(k) <= top * m + FRAME / BDP]
    chosen = set(near[:: math.ceil(len(near) / most)])
    return thin(document, lambda row: row[f"{ECN}.min"] in chosen)


def _ablation_bases(*, quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios of the ablation, by row of its table. Two of these scenarios are rows of
    Table I near equal rates, and one has a slope with Min_Thresh_DCTCP = BDP/2."""
    small = scenario("fig5-m0.125")
    large = scenario("fig5-m1")
    small["sweep"]["zip"] = [steps(range(3, 10, 2) if quick else range(3, 10))]
    large["sweep"]["zip"] = [steps(range(17, 34, 8) if quick else range(17, 34, 3))]
    slope = thin(scenario("slope"), lambda row: row[f"{ECN}.min"] == "0.5bdp")
    probabilities = [0.08, 0.2, 0.5] if quick else [0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0]
    slope["sweep"][f"{ECN}.probability"] = probabilities
    return {"step-0.125": small, "step-1": large, "slope-0.5": slope}


# --- measurements ------------------------------------------------------------------------------


def table(points: Iterable[Any]) -> pl.DataFrame:
    """Return a frame with a row for each run: its parameters and the numbers that the figures need.

    The column `ratio` is Reno's throughput divided by the mean throughput of the DCTCP flows. For
    two Reno flows, this ratio is the first flow's throughput divided by the second flow's
    throughput. The column `occupancy` is the mean queue in bytes.
    """
    rows: list[dict[str, Any]] = []
    for run in points:
        summary = run.summary
        row: dict[str, Any] = {f"p:{k}": _scalar(v) for k, v in run.params.items()}
        flows = summary["flows"]
        classic = [f["throughput_mbit"] for f in flows if f["cc"] == "reno"]
        scalable = [f["throughput_mbit"] for f in flows if f["cc"] == "dctcp"]
        if classic and not scalable:
            classic, scalable = classic[:1], classic[1:]
        ratio = None
        if classic and scalable:
            ours, theirs = sum(classic) / len(classic), sum(scalable) / len(scalable)
            ratio = ours / theirs if theirs > 0 else 1 / STARVED if ours > 0 else None
        queue = summary["queue"]
        row |= {
            "seed": run.seed,
            "ratio": ratio,
            "jain": summary.get("jain") or jain([f["throughput_mbit"] for f in flows]),
            "utilisation": queue["utilisation"],
            "occupancy_bytes": queue["occupancy_bytes_mean"],
            "drops": queue["drops"],
            "marks": queue["marks"],
            "timeouts": sum(f.get("timeouts", 0) or 0 for f in flows),
        }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _scalar(value: Any) -> Any:
    """Return a parameter as a value that a frame's column can hold."""
    return value if isinstance(value, int | float | str | bool) else str(value)


# Columns that `aggregate` averages. For each column, the result also has columns whose names end
# in `_low` and `_high`.
AVERAGED = ("ratio", "jain", "utilisation", "occupancy")


def aggregate(frame: pl.DataFrame, by: Sequence[str], bdp: float = BDP) -> pl.DataFrame:
    """Return means over seeds with 95 % intervals, in a row for each combination of the columns
    `by`.

    Ratios are averaged by the geometric mean.
    """
    rows: list[dict[str, Any]] = []
    for key, group in frame.group_by(list(by), maintain_order=True):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["n"] = group.height
        for name in ("jain", "utilisation", "occupancy_bytes"):
            value = estimate(group[name].to_list())
            scale = 1 / bdp if name == "occupancy_bytes" else 1.0
            label = "occupancy" if name == "occupancy_bytes" else name
            low, high = value.ci95 or (None, None)
            row[label] = None if value.mean is None else value.mean * scale
            row[f"{label}_low"] = None if low is None else low * scale
            row[f"{label}_high"] = None if high is None else high * scale
        mean = estimate(logs(group["ratio"].to_list()))
        low, high = mean.ci95 or (None, None)
        row["ratio"] = None if mean.mean is None else math.exp(mean.mean)
        row["ratio_low"] = None if low is None else math.exp(low)
        row["ratio_high"] = None if high is None else math.exp(high)
        rows.append(row)
    # Make sure that the columns of intervals exist, even if no row has an interval.
    floats = [f"{q}{end}" for q in AVERAGED for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col(floats).cast(pl.Float64)
    )


# --- equal sharing -----------------------------------------------------------------------------


@dataclass(frozen=True)
class EqualShare:
    """The parameter at which both flows have equal rates, with the queue and utilisation at this
    parameter."""

    # The parameter: K/M or Max_Prob_DCTCP.
    x: float
    ci95: float | None
    # Number of seeds for which both flows have equal rates at some value within the swept range.
    n: int
    utilisation: float
    utilisation_ci95: float | None
    # Mean queue in BDP.
    occupancy: float
    occupancy_ci95: float | None
    # The swept values below and above `x`.
    between: tuple[float, float]


def equal_share(
    frame: pl.DataFrame, x: str, *, falling: bool, bdp: float = BDP
) -> EqualShare | None:
    """Return the value of the column `x` at which log(ratio), averaged over seeds, crosses 0.

    The confidence interval is computed from the crossing of each seed. Return None if the curve
    does not cross 0 within the range of `x`.
    """
    xs = sorted(float(v) for v in frame[x].unique())
    means: list[float] = []
    for value in xs:
        mean = estimate(logs(frame.filter(pl.col(x) == value)["ratio"].to_list())).mean
        if mean is None:
            return None
        means.append(mean)
    whole = crossing(xs, means, falling=falling)
    if whole is None:
        return None
    singles: list[tuple[float, float, float]] = []
    for _, group in frame.group_by("seed", maintain_order=True):
        ordered = group.sort(x)
        logs_one = logs(ordered["ratio"].to_list())
        if ordered.height != len(xs) or len(logs_one) != len(xs):
            continue
        single = crossing(xs, logs_one, falling=falling)
        if single is not None:
            singles.append(
                (
                    single.x,
                    single.at(ordered["utilisation"].to_list()),
                    single.at(ordered["occupancy_bytes"].to_list()) / bdp,
                )
            )
    ci = [estimate(single[i] for single in singles).half_width for i in range(3)]
    return EqualShare(
        x=whole.x,
        ci95=ci[0],
        n=len(singles),
        utilisation=_mean_at(frame, x, xs, whole, "utilisation"),
        utilisation_ci95=ci[1],
        occupancy=_mean_at(frame, x, xs, whole, "occupancy_bytes") / bdp,
        occupancy_ci95=ci[2],
        between=(xs[whole.left], xs[whole.right]),
    )


# Smaller ratios of rates are replaced by this value, because the logarithm of 0 is infinite.
STARVED = 1e-3


def logs(ratios: Sequence[float | None]) -> list[float]:
    return [math.log(min(max(r, STARVED), 1 / STARVED)) for r in ratios if r is not None]


def _mean_at(
    frame: pl.DataFrame, x: str, xs: Sequence[float], where: Crossing, column: str
) -> float:
    """Interpolate the mean of `column` over seeds at the crossing."""
    means = []
    for value in xs:
        mean = estimate(frame.filter(pl.col(x) == value)[column].to_list()).mean
        means.append(math.nan if mean is None else mean)
    return where.at(means)


def staircase(k: float, m: float) -> tuple[float, float]:
    """Return the range of K/M in which the threshold admits the same number of frames as a
    threshold of `k` bytes.
    """
    frames = math.ceil(k / FRAME)
    return (frames - 1) * FRAME / (m * BDP), frames * FRAME / (m * BDP)


def formula3(min_ratio: float, max_prob_reno: float = 0.1) -> float:
    """Return the Max_Prob_DCTCP for equal rates by formula (3).

    `min_ratio` is Min_Thresh_DCTCP/Min_Thresh_Reno = (r - 1)/r, with r =
    Max_Prob_DCTCP/Max_Prob_Reno.
    """
    if not 0 <= min_ratio < 1:
        raise ValueError("formula (3) holds for 0 <= Min_Thresh_DCTCP/Min_Thresh_Reno < 1")
    return max_prob_reno / (1 - min_ratio)


def half(row: Mapping[str, Any], name: str) -> float | None:
    """Return half the width of a confidence interval that `aggregate` computed."""
    high = row.get(f"{name}_high")
    return None if high is None else float(high) - float(row[name])
