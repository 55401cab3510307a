"""Tests one run on several cores. A run on several cores must give results with the same bytes as
on one core. If a run can use only one core, tailback prints a message."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as package
from conftest import SCENARIO, Tailback, contents
from tailback.errors import InputError, ScenarioWarning

LOT = """
duration = "2s"
warmup = "500ms"
[path]
rtt = "4ms"
[links.west]
rate = "50Mbit"
delay = "2ms"
queue = "codel"
[links.east]
rate = "50Mbit"
delay = "2ms"
queue = { aqm = "dualpi2" }
[[flows]]
cc = "cubic"
route = ["west", "east"]
count = 3
class = "C"
[[flows]]
cc = "prague"
route = ["east"]
class = "L"
[[flows]]
cc = "reno"
route = ["west"]
[[traffic]]
kind = "cbr"
rate = "5Mbit"
route = ["west", "east"]
[record]
events = true
"""


def test_the_same_bytes_on_two_cores(tailback: Tailback, tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    file.write_text(LOT, encoding="utf-8")
    one = tailback("run", file, "--json", "--out", "one")
    two = tailback("run", file, "--json", "--out", "two", "--cores", "2")
    assert (one.returncode, two.returncode) == (0, 0), two.stderr
    assert one.stdout == two.stdout
    assert two.stderr == ""
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_network_without_delays_runs_on_one_core(tmp_path: Path) -> None:
    with pytest.warns(ScenarioWarning, match=r"not cut into 2 parts.*need links with a delay"):
        [run] = package.run(SCENARIO, out=tmp_path / "two", cores=2)
    [same] = package.run(SCENARIO, out=tmp_path / "one")
    assert run.summary == same.summary


def test_what_does_not_go_together_is_said(tailback: Tailback, scenario: Path) -> None:
    done = tailback("run", scenario, "--cores", "0")
    assert done.returncode == 2
    assert '--cores: wrong value "0"\n  use a whole number of at least 1\n' in done.stderr
    with pytest.raises(InputError, match="cores"):
        package.run(scenario, cores=0)


@pytest.mark.usefixtures("kernel_kit")
def test_a_guest_has_one_processor(tailback: Tailback, scenario: Path) -> None:
    done = tailback("run", scenario, "--cores", "2", "--engine", "kernel")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --cores 2 is for the simulator only\n  use --engine sim\n"
