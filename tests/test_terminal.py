"""Tests output. Tests that text from files never acts as a terminal command or as markup, and that
errors are sentences.
"""

from __future__ import annotations

import ast
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, SCENARIO, Tailback
from tailback.base.foreign import shown

PACKAGE = Path(tb.__file__).parent

NASTY = "bytes [/s] [bold]x[/bold] :smile: \x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e\u200b\r"
"""Text with Rich markup, terminal commands, and characters that reorder or hide text."""

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def harmless(*texts: str) -> None:
    for text in texts:
        assert not CONTROLS.search(text), repr(text)


def test_there_is_one_place_that_prints() -> None:
    """All text passes through `terminal` or `PlainConsole`, which escape control characters."""
    printers = {PACKAGE / "base" / "terminal.py", PACKAGE / "base" / "console.py"}
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path in printers:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="print")):
                    what = "print"
                case ast.Attribute(attr="echo" | "secho" | "echo_via_pager" as name):
                    what = name
                case ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr"), attr="write"):
                    what = "write"
                case ast.ImportFrom(module="rich.console" | "rich.markup" as name):
                    what = name
                case ast.keyword(arg="markup" | "emoji"):
                    what = "markup"
                case ast.Attribute(attr="from_markup" | "get_console" as name):
                    what = name
                case _:
                    continue
            found.append(f"{path.relative_to(PACKAGE)}: {what}")
    # The only use of Rich's markup is the call that turns it off.
    assert found == ["base/progress.py: markup"]


def test_titles_are_printed_as_they_stand(tailback: Tailback, tmp_path: Path) -> None:
    title = json.dumps(f"{NASTY}\ntailback: forged").replace("\x7f", "\\u007f")
    text = SCENARIO.replace('"two flows"', title)
    (tmp_path / "a.toml").write_text(text)
    done = tailback("run", "a.toml")
    assert done.returncode == 0, done.stderr
    harmless(done.stdout, done.stderr)
    # The title is wrapped at the width of its table.
    whole = " ".join(done.stdout.split())
    assert r"bytes [/s] [bold]x[/bold] :smile: \x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e" in whole
    assert "\ntailback: forged" not in done.stdout
    done = tailback("run", "a.toml", "--json")
    harmless(done.stdout)
    done = tailback("report", "results")
    harmless(done.stdout, done.stderr)
    name = "b\x1b[31m[/x]\nforged"
    args: tuple[str, ...]
    args = ("--variant", "a", "--variant", f"{name}:bottleneck.queue=fifo", "--seeds", "2")
    args += ("--metric", "jain")
    done = tailback("compare", "a.toml", *args)
    assert done.returncode == 0, done.stderr
    harmless(done.stdout, done.stderr)
    assert r"b\x1b[31m[/x]\nforged" in done.stdout
    done = tailback("compare", "a.toml", *args, "--no-report", "--json")
    harmless(done.stdout)
    assert name in [variant["name"] for variant in json.loads(done.stdout)["variants"]]


def test_diagnostics_are_escaped(tailback: Tailback, tmp_path: Path) -> None:
    key = json.dumps(f"key {NASTY}").replace("\x7f", "\\u007f")
    value = json.dumps(NASTY).replace("\x7f", "\\u007f")
    (tmp_path / "a.toml").write_text(
        f"{SCENARIO}{key} = 1\nname = {value}\n[links.{key}]\nrate = {value}\n"
        f"[[assert]]\nmetric = {value}\n"
    )
    (tmp_path / "n\x1b[1m.toml").write_text("")
    for args in (
        ("check", "a.toml"),
        ("run", "a.toml"),
        ("check", "a.toml", "--set", f"{NASTY}=1"),
        ("check", "a.toml", "--set", f"bottleneck.rate={NASTY}"),
        ("check", "n\x1b[1m.toml"),
        ("check", "none\x1b[1m.toml"),
        ("reproduce", NASTY),
        ("list", NASTY),
        (NASTY,),
        ("run", f"--{NASTY}"),
        ("report", NASTY),
        ("export", NASTY, "--format", NASTY),
        ("compare", NASTY),
        ("compare", "a.toml", "--variant", NASTY),
    ):
        done = tailback(*args)
        assert done.returncode == 2, args
        assert done.stdout == ""
        harmless(done.stderr)


def test_names_in_a_data_file_are_escaped(tailback: Tailback, tmp_path: Path) -> None:
    data = {
        "version": 4,
        "x_values": [],
        "results": {},
        "raw_values": {f"TCP upload {NASTY}": [{"t": 1.0, "val": 1.0}]},
        "metadata": {
            "NAME": NASTY,
            "TITLE": NASTY,
            "HOST": "a",
            "LOCAL_HOST": "b",
            "LENGTH": 1,
            "STEP_SIZE": 0.5,
            "FLENT_VERSION": NASTY,
        },
    }
    for name in ("a", "b"):
        (tmp_path / f"{name}.flent.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    (tmp_path / "bad.flent.gz").write_bytes(
        gzip.compress(
            json.dumps({**data, "raw_values": {NASTY: NASTY}, "x_values": NASTY}).encode()
        )
    )
    done = tailback("compare", "a.flent.gz", "b.flent.gz")
    assert done.returncode == 0, done.stderr
    harmless(done.stdout, done.stderr)
    done = tailback("compare", "a.flent.gz", "bad.flent.gz")
    assert done.returncode == 2
    harmless(done.stderr)


def test_what_an_encoding_has_not_is_escaped(scenario: Path, tmp_path: Path) -> None:
    """The encoding of the terminal is plain ASCII."""
    plain = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    title = 'title="caf\u00e9 \U0001f600"'
    for args in (("--seeds", "2"), ("--json",)):
        done = subprocess.run(
            [*COMMAND, "run", str(scenario), "--set", title, *args],
            cwd=tmp_path,
            capture_output=True,
            env=plain,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0
        said = [] if args == ("--json",) else [b"sweep", b"next:"]
        assert [line.split()[0] for line in done.stderr.splitlines()] == said
        text = done.stdout.decode("ascii")
        if args == ("--json",):
            assert json.loads(text)["points"]
        else:
            assert r"caf\xe9 \U0001f600" in text
            assert r"\xb1" in text


def test_names_that_are_not_utf8(tailback: Tailback, tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff\x1b.toml")
    (tmp_path / odd).write_text(SCENARIO)
    done = tailback("run", odd, "--out", os.fsdecode(b"out\xff"))
    assert done.returncode == 0, done.stderr
    done = tailback("check", odd)
    assert done.stdout.startswith("\\udcff\\x1b.toml: ok, 1 run: about ")
    done = tailback("check", odd, "--set", os.fsdecode(b"title=\xff"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'error: "\\udcff" is not UTF-8\n  use names in UTF-8\n'


FAILING = """
import sys
from tailback.cli.main import main
from tailback.running import scenarios

class Panic(BaseException):
    pass

def failing(*args):
    {what}

scenarios.load = failing
main()
"""


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("raise ValueError('odd \\x1b[31m' + 'x' * 1000)", 1, "please report"),
        ("raise Panic('of the engine')", 1, "please report"),
        ("return failing()", 1, "nested too deeply"),
        ("assert False", 1, "please report"),
        ("raise MemoryError", 1, "out of memory"),
        ("raise PermissionError(13, 'Permission denied', 'a\\x1b')", 1, "Permission denied"),
        ("'\\udcff'.encode()", 2, "UTF-8"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        (
            "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join();"
            " raise MemoryError",
            1,
            "ZeroDivisionError",
        ),
    ],
)
def test_an_error_is_a_sentence(
    what: str, status: int, said: str, scenario: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING.format(what=what), "check", str(scenario)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path), "TAILBACK_DEBUG": ""},
    )
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stderr
    assert all(len(line) < 300 for line in done.stderr.splitlines())
    harmless(done.stderr)
    reports = list(tmp_path.glob("tailback-error-*.txt"))
    assert len(reports) == ("please report" in done.stderr)
    for report in reports:
        assert str(report) in done.stderr
        text = report.read_text()
        harmless(text)
        assert "Traceback" in text
        assert "tailback 0." in text
        assert "command: ['check'" in text
        assert report.stat().st_mode & 0o077 == 0


def test_a_traceback_is_there_for_those_who_ask(scenario: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING.format(what="1 / 0"), "check", str(scenario)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # The folder for temporary files does not exist.
        env={**os.environ, "TMPDIR": str(tmp_path / "none"), "TAILBACK_DEBUG": "1"},
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "please report" in done.stderr


def test_a_full_disk_behind_stdout_is_a_sentence(scenario: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "check", str(scenario)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        "error: standard output: No space left on device\n",
    )


def test_shown_leaves_what_people_write() -> None:
    plain = "caf\u00e9 \u00b1 \u2013 \u4e2d\u6587 \u0639\u0631\u0628\u064a \U0001f600 \u00a0x\ty\nz"
    assert shown(plain) == plain
    assert shown("\x1b\x9b\u2028\udcff\U000e0041") == "\\x1b\\x9b\\u2028\\udcff\\U000e0041"
