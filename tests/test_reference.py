"""Checks that the reference is complete and that its examples run."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest

import tailback
from pages import REFERENCE, ROOT
from pages.reference import entries, heads, trials
from tailback import _native
from tailback.kernel.kit import Kit

ENTRIES = [
    (kind, entry["name"])
    for kind in entries.KINDS
    for entry in json.loads(_native.registry_json())[kind.registry]
]


def example(kind: entries.Kind, name: str) -> str:
    """Return the scenario on the page of an entry."""
    page = (REFERENCE / kind.folder / f"{name}.md").read_text(encoding="utf-8")
    [text] = re.findall(r"^```toml\n(.*?)^```", page, flags=re.M | re.S)
    return str(text)


SIMULATED = [(kind, name) for kind, name in ENTRIES if kind.registry != "programs"]
PROGRAMS = [
    (kind, name) for kind, name in ENTRIES if kind.registry == "programs" and name != "interop"
]
"""Endpoints of the interop runner, which are container images. tests/test_interop.py tests some of
them."""
NOT_BUILT = re.compile(r"[^\n]*: ([\w-]+) is not built; run: tailback kernel build --program \1")


@pytest.mark.parametrize(("kind", "name"), SIMULATED, ids=[name for _, name in SIMULATED])
def test_the_example_of_an_entry_runs(kind: entries.Kind, name: str, tmp_path: Path) -> None:
    short = {"duration": "3s", "warmup": "1s"}
    # The examples on pages cause no warnings.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [run] = tailback.run(example(kind, name), set=short, out=tmp_path, progress=False)
    flows = run.summary["flows"]
    assert all(flow["throughput_mbit"] > 1 for flow in flows)
    if kind.registry == "cc":
        assert [flow["cc"] for flow in flows] == [name]


@pytest.mark.parametrize(("kind", "name"), PROGRAMS, ids=[name for _, name in PROGRAMS])
def test_the_example_of_a_program_is_valid(
    kind: entries.Kind, name: str, tmp_path: Path, kernel_kit: Kit
) -> None:
    assert kernel_kit.version
    file = tmp_path / "example.toml"
    file.write_text(example(kind, name), encoding="utf-8")
    try:
        tailback.check(file, engine="kernel")
    except tailback.ScenarioError as error:
        # The only accepted error is that the program is missing on this machine.
        assert NOT_BUILT.fullmatch(str(error))  # noqa: PT017


def test_every_entry_has_a_head_and_names_its_deviations() -> None:
    for kind, name in ENTRIES:
        head = heads.head(kind.registry, name)
        assert head.about, name
    assert "RFC 9438" in heads.head("cc", "cubic").deviations
    assert heads.head("aqm", "pi2").deviations == "No known deviations."


def test_what_the_validation_covers_is_told_from_what_it_does_not() -> None:
    told = {name: "".join(trials.of("aqm", name)) for name in ("codel", "wred", "fq")}
    assert "| CoDel |" in told["codel"]
    # The page validation.md lists WRED, so the reference does not link to the separate page about
    # the validation of WRED.
    assert "| WRED |" in told["wred"]
    assert "evidence/validation.md" in told["wred"]
    assert "does not include `fq`" in told["fq"]
    assert "evidence/dctcp-internet-2014.md" in told["wred"]
    assert "ACK by ACK" in "".join(trials.of("cc", "reno"))


def test_every_variable_of_the_environment_is_on_the_page() -> None:
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(TAILBACK_\w+)` \|", page, flags=re.M))
    read = set()
    for file in (ROOT / "python" / "tailback").rglob("*.py"):
        read |= set(re.findall(r'"(TAILBACK_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    # The page leaves out `TAILBACK_SEED`, which tailback itself sets for a guest.
    assert read - {"TAILBACK_SEED"} == listed


def test_every_public_name_is_on_the_page_of_the_api() -> None:
    page = (REFERENCE / "python-api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\.\. auto\w+:: tailback\.(\w+)$", page, flags=re.M))
    assert listed == set(tailback.__all__) - {"__version__"}
