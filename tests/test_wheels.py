"""Checks the workflow that builds wheels, and the checks of a built wheel."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import linked
import wheels

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

CONTENTS = {
    "manylinux_2_34_x86_64": b"\x7fELF\x02\x01\x01\x00",
    "manylinux_2_17_aarch64": b"\x7fELF\x02\x01\x01\x00",
    "macosx_11_0_arm64": bytes.fromhex("cffaedfe0c000001"),
    "macosx_10_12_x86_64": bytes.fromhex("cffaedfe07000001"),
    "win_amd64": b"MZ\x90\x00\x03\x00\x00\x00",
}
"""The first bytes of an extension module, by platform tag."""


def wheel(
    folder: Path, platform: str, *, without: str = "", files: dict[str, bytes] | None = None
) -> Path:
    """Write a wheel with all files that a wheel for this platform must contain, except
    `without`."""
    extension = "_native.pyd" if platform.startswith("win") else "_native.abi3.so"
    inside = {f"tailback/{extension}": CONTENTS[platform]}
    inside |= dict.fromkeys([*wheels.NEEDED, wheels.LABORATORY], b"")
    if platform == "manylinux_2_34_x86_64":
        inside[wheels.GUEST] = b""
    path = folder / f"tailback-0.2.0-cp311-abi3-{platform}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**inside, **(files or {})}.items():
            if name != without:
                archive.writestr(name, data)
    return path


def steps() -> list[tuple[str, dict[str, Any]]]:
    """Return each step of all workflows, with the name of its workflow."""
    return [
        (path.name, step)
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
    ]


@pytest.mark.parametrize("platform", CONTENTS)
def test_a_complete_wheel_passes(tmp_path: Path, platform: str) -> None:
    assert wheels.problems(wheel(tmp_path, platform)) == []


def test_what_a_wheel_lacks_or_must_not_have_is_found(tmp_path: Path) -> None:
    linux = "manylinux_2_34_x86_64"
    for name in (wheels.GUEST, wheels.LABORATORY, *wheels.NEEDED):
        (problem,) = wheels.problems(wheel(tmp_path, linux, without=name))
        assert f"does not contain {name}" in problem
    mac = wheel(tmp_path, "macosx_11_0_arm64", files={wheels.GUEST: b""})
    assert wheels.problems(mac) == [f"contains {wheels.GUEST}, which runs on Linux on x86-64 only"]
    # Put the extension module of x86-64 into a wheel for ARM.
    intel = {"tailback/_native.abi3.so": CONTENTS["macosx_10_12_x86_64"]}
    assert (
        "not for macosx_11_0_arm64"
        in wheels.problems(wheel(tmp_path, "macosx_11_0_arm64", files=intel))[0]
    )


def test_a_wheel_above_the_limit_is_found(tmp_path: Path) -> None:
    large = wheel(tmp_path, "win_amd64", files={"tailback/large": bytes(12_100_000)})
    assert wheels.problems(large) == ["has 12.1 MB, more than 12 MB"]


def test_wheels_for_other_pythons_and_systems_are_found(tmp_path: Path) -> None:
    path = wheel(tmp_path, "win_amd64")
    other = path.rename(tmp_path / "tailback-0.2.0-cp312-cp312-win32.whl")
    assert len(wheels.problems(other)) == 2


MAC = linked.Module(
    ("/usr/lib/libSystem.B.dylib",), frozenset({linked.ENTRY}), ("_PyList_New",), (11, 0)
)
WINDOWS = linked.Module(("KERNEL32.dll", "python3.dll"), frozenset({linked.ENTRY}))


@pytest.mark.parametrize(
    ("module", "platform", "problem"),
    [
        (MAC, "macosx_11_0_arm64", None),
        (WINDOWS, "win_amd64", None),
        (replace(MAC, exports=frozenset()), "macosx_11_0_arm64", "does not export PyInit__native"),
        (
            replace(MAC, libraries=("/opt/homebrew/lib/libz.dylib",)),
            "macosx_11_0_arm64",
            "loads /opt/homebrew/lib/libz.dylib, which not every Mac has",
        ),
        (
            replace(MAC, unplaced=("_CFRelease",)),
            "macosx_11_0_arm64",
            "needs _CFRelease, which no library of it has",
        ),
        (replace(MAC, oldest=(13, 0)), "macosx_10_12_x86_64", "needs macOS (13, 0), newer than"),
        (replace(MAC, signed=False), "macosx_11_0_arm64", "has no signature"),
        (
            replace(WINDOWS, libraries=("python311.dll",)),
            "win_amd64",
            "loads python311.dll, which not every Windows has",
        ),
    ],
)
def test_a_module_that_would_not_load_is_found(
    module: linked.Module, platform: str, problem: str | None
) -> None:
    found = linked.problems(module, platform)
    assert len(found) == (problem is not None)
    if problem is not None:
        assert found[0].startswith(problem)


def test_only_modules_of_macos_and_windows_are_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither a module for macOS nor one for Windows"):
        linked.read(Path(sys.executable).resolve().read_bytes())
    assert wheels.unloadable(wheel(tmp_path, "manylinux_2_34_x86_64")) == []
    assert wheels.unloadable(wheel(tmp_path, "win_amd64")) == [
        "has an extension module that is neither a module for macOS nor one for Windows"
    ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_valid(path: Path) -> None:
    # Find the package without importing it, which would need further packages.
    package = importlib.util.find_spec("check_jsonschema")
    assert package is not None
    assert package.origin is not None
    schemas = Path(package.origin).parent / "builtin_schemas/vendor"
    schema = json.loads((schemas / "github-workflows.json").read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    text = re.sub(r"^on:", '"on":', path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


def test_files_that_a_workflow_uses_exist() -> None:
    assert WORKFLOWS
    for _, step in steps():
        for word in re.findall(r"(?:scripts|tests|docs)/[\w/.]+", step.get("run", "")):
            assert (ROOT / word).exists(), word
        for target in re.findall(r"^make (\S+)", step.get("run", ""), flags=re.MULTILINE):
            assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    script = "\n".join(step.get("run", "") for _, step in steps())
    assert re.search(r"^maturin==", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    assert "python tests/guard.py" in script
