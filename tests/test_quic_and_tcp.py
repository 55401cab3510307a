"""Tests the study `quic-and-tcp` with synthetic runs."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from tailback.errors import InputError
from tailback.report import Table
from tailback.running.options import RunOptions
from tailback_studies.experiments import quic_and_tcp
from tailback_studies.experiments.quic_and_tcp import layout, page, points
from tailback_studies.experiments.quic_and_tcp.layout import CCS, Pair, QuicPlace

PLACE = QuicPlace(layout.MET_AT_100, 40, "fifo 1 BDP")
STACK = layout.STACKS[0]


class Made(list[Any]):
    """Fake results, with the attributes that the page reads."""

    engine, version, title = "kernel", "7", "meeting"


def _two_flows(seed: int, first: float, second: float) -> Any:
    return _run(seed, [first, second], [])


def _beside(seed: int, quic: float, tcp: float, *, ended_s: float | None = None) -> Any:
    program = {
        "throughput_mbit": quic,
        "packets": 4000,
        "marks": None,
        "drops": 10,
        "exit_s": {"sender": ended_s, "receiver": None},
    }
    return _run(seed, [tcp], [program])


def _run(seed: int, flows: list[float], programs: list[dict[str, Any]]) -> Any:
    rows = [{"throughput_mbit": each, "packets": 1000, "marks": 0, "drops": 1} for each in flows]
    queue = {"delay_ms": {"mean": 5.0}}
    summary = {"flows": rows, "programs": programs, "queue": queue, "duration_s": 20.0}
    return SimpleNamespace(seed=seed, summary=summary)


def _met() -> tuple[list[Any], list[points.Met]]:
    """Return the results of a stack beside TCP with three seeds, and the reference runs. In the run
    with the second seed, the stack gave up.
    """
    results: list[Any] = [
        Made([_two_flows(1, 50.0, 40.0), _two_flows(2, 60.0, 30.0), _two_flows(3, 40.0, 50.0)]),
        Made([_beside(1, 60.0, 30.0), _beside(2, 1.0, 9.0, ended_s=2.5), _beside(3, 75.0, 25.0)]),
    ]
    pairs = [Pair(PLACE, stack, cc) for cc in CCS for stack in (None, STACK)]
    return results * len(CCS), points.met(pairs, results * len(CCS))


def test_a_run_that_the_stack_ends_is_counted_and_is_in_no_other_number() -> None:
    """The share, the rates and the harm are means over the two seeds in which the stack did not
    give up."""
    own, beside = _met()[1][:2]
    assert (own.runs, own.ended_s, own.harm.n) == (3, (), 0)
    assert own.share.mean == pytest.approx((40 / 90 + 30 / 90 + 50 / 90) / 3)
    assert (beside.runs, beside.ended_s) == (3, (2.5,))
    assert beside.share.n == 2
    assert beside.share.mean == pytest.approx((60 / 90 + 75 / 100) / 2)
    assert beside.tcp_mbit.mean == pytest.approx(27.5)
    # With seed 1, TCP keeps 30 of 50 Mbit/s. With seed 3, it keeps 25 of 40 Mbit/s.
    assert beside.harm.mean == pytest.approx((20 / 50 + 15 / 40) / 2)
    assert beside.drops.mean == pytest.approx(2.5)


def test_the_page_has_a_table_of_the_runs_that_a_stack_ended() -> None:
    """The table has a row for each congestion control, and no cell is empty."""
    results, met = _met()
    found = page.findings({"beside-100": results}, {"beside-100": met}, [])
    tables = [block for block in found.report.sections[1].blocks if isinstance(block, Table)]
    harm, _, gave_up = (list(map(list, table.rows)) for table in tables)
    assert gave_up == [[STACK.label, cc, "fifo 1 BDP", 40, "1 of 3", "2.5"] for cc in CCS]
    assert [row[:5] for row in harm] == [[STACK.label, "fifo 1 BDP", *["0.39"] * len(CCS)]]
    cells = [cell["measured"] for cell in found.cells if cell["quantity"] == "gave_up"]
    assert cells == pytest.approx([0, 1 / 3] * len(CCS))
    assert found.report.title == "QUIC stacks beside TCP at 100 Mbit/s and 40 ms"


def test_meetings_that_a_stack_always_ends_have_counts_only() -> None:
    """If no run is complete, the results contain only the number of runs that the stack ended."""
    gave_up: Any = Made([_beside(1, 1.0, 9.0, ended_s=2.0)])
    (found,) = points.met([Pair(PLACE, STACK, "bbr")], [gave_up])
    assert found.ended_s == (2.0,)
    assert {
        field.name
        for field in dataclasses.fields(found)
        if getattr(getattr(found, field.name), "mean", None) is not None
    } == set()


def test_the_parts_are_the_whole_grid() -> None:
    """The parts contain every combination of stack, congestion control and queue once."""
    meetings = dict(layout.MEETINGS)
    later = layout.pairs(meetings.pop("beside-20-quiche"))
    every = [pair for meeting in meetings.values() for pair in layout.pairs(meeting)]
    assert len(set(every)) == len(every)
    at = {(pair.place.link.rate_mbit, pair.place.rtt_ms) for pair in every}
    assert at == {(rate, rtt) for rate in (20, 100) for rtt in (10, 40, 160)}
    aioquic = [pair for pair in every if pair.stack and pair.stack.kind == "aioquic"]
    assert {(p.place.link.rate_mbit, p.place.rtt_ms) for p in aioquic} == {(20, 40)}
    assert len(every) == 6 * len(layout.QUEUES) * len(CCS) * 4 + len(aioquic)
    assert len(later) == len(layout.QUEUES) * len(CCS) * 3
    made: list[Any] = [points.job(pair, seeds=1).scenario for pair in later if pair.stack]
    controls = [scenario["programs"][0].get("control") for scenario in made]
    assert {word: controls.count(word) for word in controls} == {None: 18, "bbr2": 18}


def test_a_part_that_is_not_run_quickly_says_so() -> None:
    """Without the quick part's results, the study raises an error instead of writing an empty
    report."""
    experiment = quic_and_tcp.EXPERIMENT
    request = experiment.request(["beside-100-rtts"], RunOptions(engine="kernel"), quick=True)
    with pytest.raises(InputError, match="expected --part alone or beside-20"):
        experiment.study(request)
    quick = experiment.study(experiment.request([], RunOptions(engine="kernel"), quick=True))
    assert set(quick.jobs) == {"alone", "beside-20"}
    whole = experiment.study(experiment.request([], RunOptions(engine="kernel")))
    assert set(whole.jobs) == {"alone", "beside-20", "beside-100"}
