"""Tests the wheel in an empty environment, without a compiler or a checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tailback.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `make wheel` does, from files that are already compiled."""
    out = tmp_path_factory.mktemp("dist")
    # Delete an earlier build. The files of an earlier build could hide that this build omits a
    # file.
    shutil.rmtree(ROOT / "data/data/share", ignore_errors=True)
    (ROOT / "data/data/share").mkdir(parents=True)
    prefix = Path(sys.prefix)
    # Without these variables, cargo would recompile for another interpreter.
    env = os.environ | {"PYO3_PYTHON": str(prefix / "bin/python"), "VIRTUAL_ENV": str(prefix)}
    for command in (
        [sys.executable, "scripts/manual.py", "data/data/share"],
        [str(prefix / "bin/maturin"), "build", "--release", "--quiet", "--out", str(out)],
    ):
        subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    install += ["--constraint", str(ROOT / "requirements.txt"), str(wheel)]
    subprocess.run(install, cwd=folder, check=True)
    return folder


def run(environment: Path, *words: str, cwd: Path) -> str:
    """Return the output of a command that can use only this environment."""
    variables = {"PATH": str(environment / "bin"), "HOME": str(cwd), "LC_ALL": "C.UTF-8"}
    command = [str(environment / "bin" / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_shipped_example_runs_without_a_compiler(environment: Path, tmp_path: Path) -> None:
    assert "first" in run(environment, "tailback", "new", "--list", cwd=tmp_path)
    (tmp_path / "mine.toml").write_text(run(environment, "tailback", "new", "first", cwd=tmp_path))
    told = json.loads(run(environment, "tailback", "run", "mine.toml", "--json", cwd=tmp_path))
    (point,) = told["points"]
    # A CUBIC flow and a buffer of one bandwidth-delay product keep the link busy.
    assert point["queue"]["utilisation"] > 0.99
    run(environment, "tailback", "report", "latest", cwd=tmp_path)
    assert (tmp_path / "results/reports").is_dir()


def test_manual_pages_and_completions_are_where_they_are_looked_for(environment: Path) -> None:
    share = environment / "share"
    pages = {page.name for page in (share / "man/man1").iterdir()}
    assert {f"tailback-{name}.1" for name in COMMANDS} < pages
    page = (share / "man/man1/tailback-run.1").read_text(encoding="utf-8")
    assert "Run a scenario or a sweep" in page
    assert "_TAILBACK_COMPLETE" in (share / "bash-completion/completions/tailback").read_text()
    assert (share / "zsh/site-functions/_tailback").exists()
    assert (share / "fish/vendor_completions.d/tailback.fish").exists()


def test_the_wheel_is_for_other_machines_and_has_everything(wheel: Path) -> None:
    audit = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        capture_output=True,
        text=True,
        check=True,
    )
    # glibc 2.34 is the oldest glibc of a distribution with Python 3.11. The tag `linux_x86_64`
    # would mean that the wheel is only for this machine.
    assert '"manylinux_2_34_x86_64"' in audit.stdout
    assert "cp311-abi3-manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for path in ("kernel/tailback-guest", "kernel/launch/main.c", "examples/first.toml"):
        assert f"tailback/{path}" in inside
