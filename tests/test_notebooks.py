"""Checks that the notebooks of docs/notebooks run as written, without a network."""

from __future__ import annotations

import ast
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import altair as alt
import polars as pl
import pytest

import tailback
from tailback.base.python_words import in_python
from tailback.errors import InputError
from tailback.evaluate import of_results, suites
from tailback.evaluate.model import Request
from tailback.running.options import RunOptions

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def shown(value: Any) -> str:
    """Return the output that a notebook displays for the value of a cell."""
    if isinstance(value, alt.TopLevelMixin):
        bundle = value._repr_mimebundle_()
        assert isinstance(bundle, dict)
        return str(bundle["image/svg+xml"])
    found = getattr(value, "_repr_html_", None)
    return repr(value) if found is None else str(found())


def run_cell(source: str, names: dict[str, Any], file: str) -> str | None:
    """Run a cell, and return the output that it displays."""
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
        # The notebooks store no outputs, because stored outputs could be from another version.
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


def test_charts_need_no_network(results: tailback.Results, tmp_path: Path) -> None:
    one = results.plot("rtt", "throughput_mbit")
    assert "line" not in one.to_dict()["config"]
    for chart in (one, one | one, one.properties(title="two"), one.encode(y="y:Q")):
        shown = chart._repr_mimebundle_()
        assert shown["image/svg+xml"].startswith("<svg")
        assert "text/html" not in shown
    (one & one).save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script src=" not in page
    assert len(page) > 500_000
    with alt.renderers.enable("html"):
        assert "text/html" in one._repr_mimebundle_()


def test_errors_name_arguments_of_python(results: tailback.Results) -> None:
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: results.plot("rt", "delay_ms.p99"), "^x: key"),
        (lambda: results.plot(begin="1s", kind="line"), 'begin: line has no time; set kind="time"'),
        (lambda: results.plot(kind="time", rules="y=5kg"), "^rules y: "),
        (lambda: results.plot(kind="bar", y="delay_ms.p99", x_limits="1:2"), "use where to choose"),
        (
            lambda: results.plot("delay_ms.mean", kind="line"),
            '^x: .*kind="scatter"',
        ),
        (lambda: results.explain(flow="cubc"), '^flow: flow "cubc" does not exist'),
        (lambda: results.evaluate(part="77"), '^part: section "77"'),
    )
    for call, said in calls:
        with pytest.raises(InputError, match=said) as caught:
            call()
        assert "--" not in str(caught.value)


def test_commands_in_errors_keep_their_options() -> None:
    build = "no guest kernel of 6.1: there are no guest kernels yet; run: tailback kernel build"
    for message in (
        f"{build} --release 6.1",
        "make them with tailback run FILE --without NAME or tailback compare FILE",
    ):
        assert in_python(message) == message
    assert in_python("--part: run: tailback run --quick; set --kind line") == (
        'part: run: tailback run --quick; set kind="line"'
    )


@pytest.mark.parametrize(
    ("links", "queues"),
    [
        (
            {
                "links": {
                    "near": {"queue": "fifo"},
                    "far": {"queue": {"aqm": "codel", "target": "7ms"}},
                }
            },
            {"near": "fifo", "far": 'codel:target="7ms"'},
        ),
        (
            {"bottleneck": {"both_directions": True, "queue": "pie"}},
            {"bottleneck": "pie", "bottleneck.back": "pie"},
        ),
    ],
)
def test_the_queue_of_each_link_is_known(
    links: dict[str, Any], queues: dict[str, str], tmp_path: Path
) -> None:
    flow = {"cc": "cubic", **({"route": ["near", "far"]} if "links" in links else {})}
    for link in links.get("links", links).values():
        link["rate"] = "10Mbit"
    scenario = {"duration": "1s", "path": {"rtt": "10ms"}, "flows": [flow], **links}
    manifest = tailback.run(scenario, out=tmp_path, progress=False)[0].manifest
    names = [link["name"] for link in manifest["canonical"]["links"]]
    found = {name: of_results.suite_and_subject(manifest, None, name) for name in names}
    assert found == {name: ("queue", queue) for name, queue in queues.items()}


def test_results_evaluate_an_algorithm_with_its_options(tmp_path: Path) -> None:
    scenario = {
        "duration": "1s",
        "bottleneck": {
            "rate": "10Mbit",
            "queue": {"aqm": "codel", "target": "10ms", "limit": "300p"},
        },
        "path": {"rtt": "10ms"},
        "flows": [{"cc": {"name": "cubic", "beta": 0.5}}, {"cc": "reno"}],
        "events": [{"at": "500ms", "set": {"bottleneck.rate": "5Mbit"}}],
    }
    found = tailback.run(scenario, out=tmp_path, progress=False)
    manifest = found[0].manifest
    assert of_results.suite_and_subject(manifest, "cubic", None) == ("cc", "cubic:beta=0.5")
    assert of_results.suite_and_subject(manifest, "reno", None) == ("cc", "reno")
    queue = ("queue", 'codel:target="10ms"')
    assert of_results.suite_and_subject(manifest, None, "bottleneck") == queue
    with pytest.raises(InputError, match="flow: name one of cubic, reno"):
        found.evaluate()
    evaluation = found.evaluate(flow="cubic", quick=True, part="7.1-ce", seeds=2)
    assert evaluation.subject == "cubic:beta=0.5"
    request = Request(
        "cubic:beta=0.5",
        RunOptions.of(seeds=2, out=tmp_path, progress=False),
        quick=True,
        parts=("7.1-ce",),
    )
    assert evaluation.to_dict() == suites.evaluate("cc", request).to_dict()
    frame = evaluation.frame()
    assert frame["id"].to_list() == ["7.1-ce"]
    assert frame["low"].dtype == pl.Float64
    assert "<td>7.1-ce</td>" in evaluation._repr_html_()
    assert repr(evaluation).startswith("<Evaluation cc cubic:beta=0.5: 1 ")
    assert evaluation.report(tmp_path / "report").is_file()
