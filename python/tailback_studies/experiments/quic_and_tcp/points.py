"""Makes the scenarios, and computes throughput, harm and delay from their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback.metrics.harm import harm
from tailback.metrics.statistics import Estimate, estimate
from tailback.running.batch import Job
from tailback_studies.experiments.quic_and_tcp.layout import QUEUES, Fetch, Pair, QuicPlace
from tailback_studies.reproduction.sources import scenario

if TYPE_CHECKING:
    from tailback.store.results import Results

BYTES: Mapping[int, int] = {20: 20_000_000, 100: 50_000_000}
"""Size of a transfer alone in bytes, by rate in Mbit/s."""

FETCH_S = 30
"""Duration of a run in seconds. A run is longer than any transfer alone."""


def job(pair: Pair, *, seeds: int) -> Job:
    """Return the job of two flows at a bottleneck."""
    table = _at(pair.place)
    table["flows"][0]["cc"] = pair.cc
    if pair.stack is None:
        del table["programs"]
        table["flows"].append({**table["flows"][0], "name": "other"})
    else:
        # An endless transfer stops before the end of the run only if an error occurs. The study
        # counts these errors, so they must not make the run fail.
        table["programs"][0].update(kind=pair.stack.kind, expect=1)
        if pair.stack.word is not None:
            table["programs"][0]["control"] = pair.stack.word
    return Job(table, {}, seeds)


def fetch_job(fetch: Fetch, *, seeds: int) -> Job:
    """Return the job of one transfer through an empty bottleneck."""
    table = _at(fetch.place)
    table.update(duration=f"{FETCH_S}s", warmup="0s")
    size = BYTES[fetch.place.link.rate_mbit]
    if isinstance(fetch.who, str):
        del table["programs"]
        table["flows"][0].update(cc=fetch.who, bytes=size)
    else:
        del table["flows"]
        table["programs"][0].update(kind=fetch.who.kind, bytes=size)
    return Job(table, {}, seeds)


def _at(place: QuicPlace) -> dict[str, Any]:
    made, link = scenario(__package__, "beside"), place.link
    made.update(duration=f"{link.seconds}s", warmup=f"{link.warmup_s}s")
    made["bottleneck"] = {"rate": f"{link.rate_mbit}Mbit", "queue": dict(QUEUES[place.queue])}
    made["path"]["rtt"] = f"{place.rtt_ms}ms"
    return made


# --- results ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Met:
    """The results of two flows at a bottleneck, over seeds."""

    pair: Pair
    share: Estimate
    """Throughput of the competitor (QUIC, or the second flow of the kernel), divided by the sum of
    both throughputs."""
    tcp_mbit: Estimate
    quic_mbit: Estimate
    harm: Estimate
    """Share of its rate that the kernel's flow loses, compared with runs beside a second flow of
    the same kind."""
    delay_ms: Estimate
    """Mean queueing delay of all packets."""
    marks: Estimate
    """CE marks per thousand packets of the QUIC stack."""
    drops: Estimate
    """Drops per thousand packets of the QUIC stack."""
    runs: int
    """Number of runs of this pair at this bottleneck."""
    ended_s: tuple[float, ...]
    """Time in s at which the stack gave up, for each run in which it gave up. The other fields do
    not include runs in which the stack gave up.
    """


Summary = Mapping[str, Any]


def met(pairs: Sequence[Pair], results: Sequence[Results]) -> list[Met]:
    """Return the results of each pair. Harm is computed from runs with the same seed."""
    every = {
        pair: {run.seed: run.summary for run in found}
        for pair, found in zip(pairs, results, strict=True)
    }
    runs = {
        pair: {seed: run for seed, run in by_seed.items() if _ended(run) is None}
        for pair, by_seed in every.items()
    }
    out = []
    for pair, by_seed in runs.items():
        ends = [_ended(run) for run in every[pair].values()]
        alone = runs.get(Pair(pair.place, None, pair.cc), {})
        harms = (
            (
                harm(_tcp(alone[seed]), _tcp(summary), "more")
                for seed, summary in by_seed.items()
                if seed in alone
            )
            if pair.stack is not None
            else ()
        )
        summaries = list(by_seed.values())
        out.append(
            Met(
                pair,
                share=_over(summaries, _share),
                tcp_mbit=_over(summaries, _tcp),
                quic_mbit=_over(summaries, lambda one: _other(one)["throughput_mbit"]),
                harm=estimate(list(harms)),
                delay_ms=_over(summaries, lambda one: one["queue"]["delay_ms"]["mean"]),
                marks=_over(summaries, lambda one: _per_mille(_other(one), "marks")),
                drops=_over(summaries, lambda one: _per_mille(_other(one), "drops")),
                runs=len(every[pair]),
                ended_s=tuple(at for at in ends if at is not None),
            )
        )
    return out


def _over(runs: Iterable[Summary], of: Any) -> Estimate:
    return estimate([of(one) for one in runs])


def _tcp(run: Summary) -> float:
    return float(run["flows"][0]["throughput_mbit"] or 0.0)


def _other(run: Summary) -> Summary:
    """Return the results of the competitor: the program or the second flow."""
    found: Summary = run["programs"][0] if run.get("programs") else run["flows"][1]
    return found


def _ended(run: Summary) -> float | None:
    """Return the time (in seconds) at which the program's client or server ended early.

    Return None if client and server ran until the end of the run.
    """
    if not run.get("programs"):
        return None
    at = [one for one in run["programs"][0]["exit_s"].values() if one is not None]
    return min(at, default=None)


def _share(run: Summary) -> float | None:
    own, tcp = _other(run)["throughput_mbit"] or 0.0, _tcp(run)
    return own / (own + tcp) if own + tcp else None


def _per_mille(part: Summary, what: str) -> float | None:
    if part[what] is None or not part["packets"]:
        return None
    return 1000.0 * float(part[what]) / float(part["packets"])


@dataclass(frozen=True)
class Fetched:
    """The results of a transfer without a competitor."""

    fetch: Fetch
    completion_s: Estimate
    delay_ms: Estimate
    ect: Estimate
    """Share of sent packets with an ECN-capable codepoint. Only programs have it."""


def fetched(fetches: Sequence[Fetch], results: Sequence[Results]) -> list[Fetched]:
    """Return the results of every transfer."""
    out = []
    for fetch, found in zip(fetches, results, strict=True):
        runs = [run.summary for run in found]
        out.append(
            Fetched(
                fetch,
                completion_s=_over(runs, lambda one: _only(one)["completion_s"]),
                delay_ms=_over(runs, lambda one: one["queue"]["delay_ms"]["mean"]),
                ect=_over(runs, _ect),
            )
        )
    return out


def _only(run: Summary) -> Summary:
    found: Summary = run["programs"][0] if run.get("programs") else run["flows"][0]
    return found


def _ect(run: Summary) -> float | None:
    if not run.get("programs"):
        return None
    sent = run["programs"][0]["ecn_sent"]
    total = float(sum(sent.values()))
    return (total - float(sent["not_ect"])) / total if total else None
