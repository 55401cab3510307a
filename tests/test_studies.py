"""Tests packages that add commands (studies), the errors about such packages, and the example in
docs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from conftest import COMMAND, ROOT, SCENARIO
from tailback import studies
from tailback.base import entry_points
from tailback.studies import Studies

PAGE = ROOT / "docs" / "contributing" / "studies.md"


def install(folder: Path, name: str, entry_points: dict[str, str]) -> None:
    """Write the metadata that an installer writes for a distribution."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[{studies.GROUP}]\n{lines}", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Install the example package of the page. Return the folder."""
    folder = tmp_path / "site"
    blocks = re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    files = dict(blocks)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    install(folder, project["name"].replace("-", "_"), project["entry-points"][studies.GROUP])
    return folder


def command(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with an additional folder of packages."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=site.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_of_the_page_adds_its_command(site: Path) -> None:
    (site.parent / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    ran = command(site, "fairness", "mine.toml", "reno", "cubic", "--seeds", "2")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert [re.sub(r"[\d.]+", "N", line) for line in lines] == [
        "reno: N, N runs",
        "cubic: N, N runs",
    ]
    indices = [float(line.split()[1].rstrip(",")) for line in lines]
    assert all(0.5 <= index <= 1 for index in indices)
    assert "fairness" in command(site, "--help").stdout


FOUND = """\
import json
from importlib import metadata
from tailback.base import entry_points

assert entry_points.only_folders()
ours, pythons = {}, {}
for group in metadata.entry_points().groups:
    ours[group] = sorted({(one.name, one.value) for one in entry_points.of_group(group)})
    pythons[group] = sorted({(one.name, one.value) for one in metadata.entry_points(group=group)})
print(json.dumps([ours, pythons]))
"""
"""Prints the entry points that tailback finds and those that Python finds, by group. A new Python
process is necessary, because importlib_metadata replaces Python's finder as soon as a test imports
it."""


def test_entry_points_are_those_that_python_finds(tmp_path: Path) -> None:
    # If a distribution is installed twice, the first version hides the second. The names may differ
    # in case.
    for number, name in enumerate(("my_study", "My.study", "other")):
        install(tmp_path / str(number), name, {f"one-{number}": f"study_{number}:STUDIES"})
    folders = [str(tmp_path / str(number)) for number in (2, 1, 0)]
    done = subprocess.run(
        [sys.executable, "-c", FOUND],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    ours, pythons = json.loads(done.stdout)
    assert ours == pythons
    names = {name for name, _ in ours[studies.GROUP]}
    assert {"one-1", "one-2"} <= names
    assert "one-0" not in names


def test_entry_points_of_an_archive_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "study-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("study-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: study\n")
        file.writestr("study-1.0.dist-info/entry_points.txt", "[my.group]\nsome = os:path.join\n")
    monkeypatch.syspath_prepend(archive)
    (found,) = entry_points.of_group("my.group")
    assert found.load() is os.path.join


def test_the_list_of_experiments_imports_no_experiment() -> None:
    code = (
        "import sys\n"
        "from tailback_studies import STUDIES, experiments\n"
        "titles = dict(experiments.listed())\n"
        "assert not set(STUDIES.experiments.values()) & set(sys.modules)\n"
        "assert list(titles) == list(experiments.NAMES)\n"
        "assert all(experiments.get(name).title == title for name, title in titles.items())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_what_ours_add_is_found_by_the_entry_point() -> None:
    assert {"reproduce", "validate"} <= studies.commands().keys()
    assert "experiments" in studies.lists()
    assert "dctcp-internet-2014" in studies.experiments()
    assert "l4s-battery" in studies.batteries()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere_at_all:STUDIES", "cannot be loaded"),
        ("json:JSONDecoder", "is not a tailback.studies.Studies"),
        ("doubled:STUDIES", "both add reproduce to commands"),
    ],
)
def test_an_entry_point_that_is_wrong_is_named(tmp_path: Path, value: str, message: str) -> None:
    site = tmp_path / "site"
    install(site, "wrong", {"wrong": value})
    (site / "doubled.py").write_text(
        "from tailback.studies import Studies\nSTUDIES = Studies(commands={'reproduce': 'a:b'})\n",
        encoding="utf-8",
    )
    ran = command(site, "list", "experiments")
    assert ran.returncode == 2
    assert message in " ".join(ran.stderr.split())
    assert "wrong" in ran.stderr


def test_commands_of_the_core_do_not_look_for_studies(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "wrong", {"wrong": "nowhere_at_all:STUDIES"})
    (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    assert command(site, "check", "mine.toml").returncode == 0


def test_a_place_is_imported_when_it_is_asked_for() -> None:
    assert studies.load("tailback.studies:Studies") is Studies
    with pytest.raises(KeyError):
        list(studies.listed("nothing of that name"))
