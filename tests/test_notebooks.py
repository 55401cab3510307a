"""Checks that the notebooks of docs/notebooks run as written, without a network."""

from __future__ import annotations

import ast
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import altair as alt
import pytest

import tailback
from tailback.errors import InputError

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def shown(value: Any) -> str:
    """Return what a notebook displays for the value of a cell."""
    # Displaying a chart would need IPython, so use its specification.
    if isinstance(value, alt.TopLevelMixin):
        return json.dumps(value.to_dict())
    found = getattr(value, "_repr_html_", None)
    return repr(value) if found is None else str(found())


def run_cell(source: str, names: dict[str, Any], file: str) -> str | None:
    """Run a cell, and return what it displays."""
    module = ast.parse(source, file)
    last = module.body[-1] if module.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(module, file, "exec"), names)
        return None
    before = ast.Module(module.body[:-1], [])
    exec(compile(before, file, "exec"), names)
    value = eval(compile(ast.Expression(last.value), file, "eval"), names)
    return None if value is None else shown(value)


def no_network(*_args: object) -> NoReturn:
    raise AssertionError("a notebook opened a connection")


def test_there_are_six() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILBACK_PROGRESS", "off")
    monkeypatch.setattr(socket.socket, "connect", no_network)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], len({c["id"] for c in notebook["cells"]})) == (
        4,
        len(notebook["cells"]),
    )
    names: dict[str, Any] = {"__name__": "__main__"}
    displayed = 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        # The notebooks store no outputs, which could be from another version.
        assert cell["outputs"] == []
        text = run_cell("".join(cell["source"]), names, f"{path.name}, cell {number}")
        displayed += bool(text)
    assert displayed >= 2


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    scenario = {
        "duration": "2s",
        "bottleneck": {"rate": "10Mbit", "queue": "codel"},
        "flows": [{"cc": "cubic", "count": 2}],
        "sweep": {"path.rtt": ["10ms", "0.02s"]},
    }
    return tailback.run(scenario, out=tmp_path_factory.mktemp("out"), progress=False)


def test_unknown_names_are_errors_with_the_nearest(results: tailback.Results) -> None:
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: results.series(quantity="cwdn"), 'did you mean "cwnd"'),
        (lambda: results.series(0, flow="cubc"), 'did you mean "cubic"'),
        (lambda: results.series(link="bottlenek"), 'did you mean "bottleneck"'),
        (lambda: results.histogram(quantity="delay_n"), 'did you mean "delay_ns"'),
        (lambda: results.histogram(0, "rtt_ns", flow="cubic/3"), "cubic/1"),
        (lambda: results.frame(["throughput"]), 'did you mean "throughput_mbit"'),
    )
    for call, said in calls:
        with pytest.raises(InputError, match=said):
            call()
    # The name of a group of flows also selects the group's flows.
    assert results.series(quantity="cwnd", flow="cubic")["flow"].n_unique() == 2


def test_swept_times_are_durations(results: tailback.Results) -> None:
    for frame in (results.frame(), results.queues(), results.series(quantity="cwnd")):
        times = frame["path.rtt"].unique().sort().dt.total_milliseconds().to_list()
        assert times == [10, 20]
    assert results.sources()["path.rtt"].dtype == results.frame()["path.rtt"].dtype


def test_results_explain_and_report_themselves(results: tailback.Results) -> None:
    explanation = results.explain(0, flow="cubic/1")
    assert "flow cubic/1 (cubic)" in str(explanation)
    assert "<li>" in explanation._repr_html_()
    page = results.report()
    assert page.name == "index.html"
    assert page.is_file()


def test_charts_compose(results: tailback.Results) -> None:
    one = results.plot(kind="time", y="delay_ms", where={"rtt": "10ms"})
    whole = (one | one) & one
    spec = whole.to_dict()
    assert [len(spec["vconcat"]), len(spec["vconcat"][0]["hconcat"])] == [2, 2]
    assert spec["config"]["axis"]["labelFontSize"] > 0
    assert "config" not in spec["vconcat"][1]
