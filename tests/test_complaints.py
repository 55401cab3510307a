"""Tests printed errors: position, line with a caret, and advice."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import tailback as tb
from conftest import SCENARIO, Tailback
from tailback.base import arguments, foreign
from tailback.cli import complaints
from tailback.errors import InputError
from tailback.kernel import modules
from tailback.plot import quantities
from tailback.plugins import begin, crate
from tailback.running.spread.shard import Shard
from tailback.store import layout, marker
from tailback.tuning import ranges


def printed(scenario: str, name: str = "f.toml") -> list[str]:
    """Return the lines printed about all errors of a scenario."""
    Path(name).write_text(scenario, encoding="utf-8")
    with pytest.raises(tb.ScenarioError) as caught:
        tb.check(name)
    return "\n".join(complaints.text_of("error", p) for p in caught.value.problems).split("\n")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def marked(lines: list[str]) -> str:
    """Return the text that the carets mark."""
    _, source, carets, *_ = lines
    return source[carets.index("^") : carets.rindex("^") + 1]


def test_a_mistake_has_its_line_and_an_imperative() -> None:
    lines = printed(SCENARIO.replace('"codel"', '"codle"'))
    assert lines[0] == 'error: f.toml:8:17: unknown queue discipline "codle"'
    assert marked(lines) == '"codle"'
    assert lines[3].startswith('  write "codel"')
    assert len(lines) == 4


@pytest.mark.parametrize("before", ["\t", "    "])
def test_carets_are_under_the_place(before: str) -> None:
    lines = printed(SCENARIO.replace("rate ", f"{before}rate ").replace('"10Mbit"', "10"))
    assert marked(lines) == "10"


def test_a_wide_character_takes_two_carets() -> None:
    name = '"\u4f60\u597dx"'
    lines = printed(f"{SCENARIO}[[assert]]\nmetric = {name}\nmin = 1\n")
    assert lines[1].endswith(name)
    assert lines[2] == " " * lines[1].index('"') + "^" * (len(name) + 2)


def test_a_long_line_is_shown_about_the_place() -> None:
    lines = printed(SCENARIO.replace("[[flows]]", f'[[flows]]\nroute = ["{"x" * 500}"]', 1))
    _, source, carets, _ = lines
    assert max(map(len, (source, carets))) <= complaints.MOST_COLUMNS + 10
    assert set(source[carets.index("^") : carets.rindex("^")]) <= set('"x')


def test_what_has_no_place_in_a_line_is_shown_without() -> None:
    lines = printed('title = "t"\n[[flows]]\ncc = "cubic"\n[bottleneck]\nrate = "1Mbit"\n')
    assert lines == [
        'error: f.toml:1:1: "duration" is missing in the scenario',
        '  add duration = "30s"',
    ]


@pytest.mark.parametrize(
    ("message", "what", "advice"),
    [
        ("f: no such file", "f: no such file", None),
        ("x is wrong; expected a number", "x is wrong", "use a number"),
        ('"a"; did you mean "b"?', '"a"', 'write "b"'),
        ('"a"; expected one of b, c; did you mean "b"?', '"a"', 'write "b", or another of b, c'),
        ('"a"; expected one of b; did you mean "b"?', '"a"', 'write "b"'),
        ('"a"; expected a word; did you mean "b"?', '"a"', 'write "b", or use a word'),
        ("--set x: expected KEY=VALUE", "--set x is not valid", "use KEY=VALUE"),
        ("no kernel; run: tailback kernel build", "no kernel", "run: tailback kernel build"),
        ("two; of them; remove one of them", "two; of them", "remove one of them"),
    ],
)
def test_a_message_ends_in_what_to_do(message: str, what: str, advice: str | None) -> None:
    assert complaints.split(message) == (what, advice)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rum",), 'error: no such command "rum"\n  write "run"\n'),
        (("kernel", "biuld"), 'error: no such command "biuld"\n  write "build"\n'),
        (("run",), "error: missing argument FILE\n  run: tailback run --help\n"),
        (("run", "f", "--sed", "3"), 'error: no such option --sed\n  write "--seeds"\n'),
        (("run", "f", "--zzz"), "error: no such option --zzz\n  run: tailback run --help\n"),
        (("run", "f", "--jobs", "x"), 'error: --jobs: wrong value "x"\n  use a whole number of'),
        (("plot", "--font-size", "x"), 'error: --font-size: "x" is not a valid float\n  run: '),
    ],
)
def test_a_command_line_has_the_same_voice(
    tailback: Tailback, words: tuple[str, ...], said: str
) -> None:
    done = tailback(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said), done.stderr


def test_everything_is_printed_at_once(tailback: Tailback) -> None:
    Path("f.toml").write_text(SCENARIO.replace('"codel"', '"codle"').replace("10Mbit", "x"))
    done = tailback("check", "f.toml", "--set", "flows.cubic.cc=cubik")
    assert (done.returncode, done.stdout) == (2, "")
    begin = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    assert [line.partition(":")[0] for line in begin] == ["error"] * 3
    assert 'error: --set flows.cubic.cc=cubik:1:16: unknown congestion control "cubik"' in begin


def test_a_warning_has_the_same_form(tailback: Tailback) -> None:
    Path("f.toml").write_text(SCENARIO + 'bytes = "1kb"\n')
    done = tailback("check", "f.toml")
    assert done.returncode == 0
    message, source, carets, advice = done.stderr.splitlines()
    assert message.startswith("warning: f.toml:")
    assert marked([message, source, carets]) == '"1kb"'
    assert advice == "  use a later start, a shorter warm-up or more bytes"


def _cut_gzip(path: Path) -> None:
    foreign.gunzip(gzip.compress(b"x" * 999)[:-9], path)


REJECTED: dict[str, tuple[Callable[[], object], str]] = {
    "missing file": (lambda: foreign.read(Path("none.json")), "name a file that exists"),
    "folder": (lambda: foreign.read(Path()), "name a file, not a folder"),
    "large file": (lambda: foreign.read(Path("f"), limit=1 << 20), "name a smaller file"),
    "no JSON": (lambda: foreign.parse_json(b"{", Path("f")), "name a JSON file"),
    "cut gzip": (lambda: _cut_gzip(Path("f")), "name a complete file"),
    "unknown quantity": (lambda: quantities.find("qqq", {}), "run: tailback list metrics"),
    "not over time": (
        lambda: quantities.find("delay_ms", {}, over_time=True),
        'set record.series = "interval"',
    ),
    "array of jobs": (
        lambda: Shard.parse(
            "auto/9", {"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "4"}
        ),
        "use auto/4",
    ),
    "no shard": (lambda: Shard.parse("auto", {}), "use I/N such as 2/8"),
    "no module folder": (lambda: modules.spelled("a=none"), "name the folder of a module"),
    "module name": (lambda: modules.spelled("?=."), "use letters, digits"),
    "empty module": (lambda: modules.content(Path("empty")), "name the folder of a module"),
    "no crate": (lambda: crate.read(Path("empty")), "use one (`tailback new --crate"),
    "own crate": (
        lambda: begin.write("cc", Path("tailback-engine")),
        "choose another name",
    ),
    "text of names": (lambda: arguments.names("metrics", 3), "use a list of names"),
    "range": (lambda: ranges.parse("a.b", "1ms.."), "use LO..HI"),
    "run": (lambda: layout.find_run("ffff", Path("results")), "run a scenario first"),
    "report over a file": (lambda: marker.require_own(Path("f")), "move it away"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejection_says_what_to_do(name: str) -> None:
    Path("empty").mkdir()
    Path("f").write_bytes(b"\0" * ((1 << 20) + 1))
    call, begins = REJECTED[name]
    with pytest.raises(InputError) as caught:
        call()
    _, advice = complaints.split(str(caught.value))
    assert advice is not None, caught.value
    assert advice.startswith(begins), advice


def test_damage_ends_in_what_to_do_about_it(tailback: Tailback) -> None:
    made = tb.run(SCENARIO, out="results")
    [run] = made.points
    summary = Path("results/runs") / run.run_id / "summary.json"
    summary.chmod(0o644)
    summary.write_bytes(summary.read_bytes()[:-2])
    done = tailback("explain", run.run_id)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("\n  run the scenario again, which repeats damaged runs\n")
    assert tailback("run", "--quiet", "--json", _file(SCENARIO)).returncode == 0
    assert tailback("explain", run.run_id).returncode == 0


def test_diagnostics_of_the_engine_with_plugins_are_printed_alike() -> None:
    """An engine with plugins is another compiled module with another class of diagnostics. tailback
    must print its diagnostics like those of the engine without plugins."""
    line = "queue = 'mine'"
    other = SimpleNamespace(
        place="f.toml:3:9", line=3, column=9, width=6, source=line, message="no", help="use fifo"
    )
    printed_lines = complaints.text_of("error", other).split("\n")  # type: ignore[arg-type]
    assert printed_lines == [
        "error: f.toml:3:9: no",
        f"  {line}",
        "          ^^^^^^",
        "  use fifo",
    ]


def _file(scenario: str) -> str:
    Path("f.toml").write_text(scenario, encoding="utf-8")
    return "f.toml"
