"""Tests bundles: their content, their verification, and attacks by an untrusted bundle."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import tailback as tb
from conftest import SCENARIO, Tailback
from tailback.bundling import checking
from tailback.errors import InputError
from tailback.running.options import RunOptions

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "s.toml").write_text(SCENARIO)
    options = RunOptions(seeds=2, out=folder / "results", progress=False)
    return tb.bundle(folder / "s.toml", folder / "s.zip", options=options)


def read(path: Path) -> Files:
    with zipfile.ZipFile(path) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def write(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)
    return path


def changed(files: Files, change: Callable[[Files], None], *, honest: bool) -> Files:
    """Return the files of a bundle after a change. If `honest` is set, also update the hashes of
    the files in the bundle."""
    made = dict(files)
    change(made)
    about = json.loads(made["bundle.json"])
    if honest:
        about["files"] = {name: hashlib.sha256(made[name]).hexdigest() for name in about["files"]}
    made["bundle.json"] = json.dumps(about).encode()
    return made


def summaries(files: Files) -> list[str]:
    return sorted(name for name in files if name.endswith("summary.json"))


def test_a_bundle_has_what_is_needed(bundle: Path) -> None:
    files = read(bundle)
    about = json.loads(files["bundle.json"])
    assert about["engine_version"] == tb.engine_version()
    assert files["scenario.toml"].decode() == SCENARIO
    assert f"tailback=={tb.__version__}" in files["requirements.txt"].decode()
    assert "tailback run scenario.toml --seeds 2" in files["commands.sh"].decode()
    assert files["figures/figure.svg"].startswith(b"<svg")
    assert len(summaries(files)) == 2
    assert not any(name.endswith("timing.json") for name in files)
    for name, digest in about["files"].items():
        assert hashlib.sha256(files[name]).hexdigest() == digest
    crate = json.loads(files["ro-crate-metadata.json"])
    by_id = {entity["@id"]: entity for entity in crate["@graph"]}
    assert len(by_id) == len(crate["@graph"])
    root = by_id["./"]
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert by_id["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    parts = {part["@id"] for part in root["hasPart"]}
    assert parts == set(files) - {"ro-crate-metadata.json"}
    assert parts <= set(by_id)


def test_a_bundle_comes_out_again(bundle: Path) -> None:
    found = tb.verify_bundle(bundle, progress=False)
    assert found.same
    assert (found.runs, found.version_only) == (2, [])
    assert found.compared == 2 * 5


def test_the_same_results_give_the_same_bundle(bundle: Path, tmp_path: Path) -> None:
    options = RunOptions(seeds=2, out=tmp_path / "elsewhere", progress=False)
    again = tb.bundle(bundle.parent / "s.toml", tmp_path / "s.zip", options=options)
    date = "ro-crate-metadata.json"
    assert {k: v for k, v in read(again).items() if k != date} == {
        k: v for k, v in read(bundle).items() if k != date
    }


def test_a_changed_byte_is_damage(bundle: Path, tmp_path: Path) -> None:
    files = read(bundle)
    name = next(name for name in files if name.endswith("series.parquet"))

    def flip(made: Files) -> None:
        made[name] = made[name][:-1] + bytes([made[name][-1] ^ 1])

    found = tb.verify_bundle(write(tmp_path / "b.zip", changed(files, flip, honest=False)))
    assert found.damaged == [name]
    assert not found.same


def test_another_result_is_named_with_its_values(
    bundle: Path, tmp_path: Path, tailback: Tailback
) -> None:
    files = read(bundle)
    name = summaries(files)[0]

    def lie(made: Files) -> None:
        made[name] = made[name].replace(b'"retransmits": ', b'"retransmits": 9', 1)

    path = write(tmp_path / "b.zip", changed(files, lie, honest=True))
    found = tb.verify_bundle(path, progress=False)
    assert (found.damaged, [one.file for one in found.differences]) == ([], [name])
    assert found.differences[0].values[0].startswith("flows.cubic.retransmits: 9")
    assert "the engine and the platform are the same" in found.differences[0].why
    printed = tailback("bundle", "--verify", path)
    assert printed.returncode == 1
    assert f"{name}: differs, since" in printed.stdout


def test_another_version_is_the_reason(bundle: Path, tmp_path: Path) -> None:
    files = read(bundle)

    def older(made: Files) -> None:
        about = json.loads(made["bundle.json"])
        about["engine_version"] = "0.0.1+00"
        made["bundle.json"] = json.dumps(about).encode()
        for name in summaries(made):
            made[name] = made[name].replace(b'"retransmits": ', b'"retransmits": 8', 1)

    path = write(tmp_path / "b.zip", changed(files, older, honest=True))
    found = tb.verify_bundle(path, progress=False)
    assert len(found.differences) == 2
    assert found.differences[0].why == f"the engine is {tb.engine_version()} here, and was 0.0.1+00"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a\\x", "c:x"])
def test_names_that_leave_the_folder_are_rejected(bundle: Path, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "b.zip", {**read(bundle), name: b""})
    with pytest.raises(InputError, match="is not a name of a file in a bundle"):
        tb.verify_bundle(path)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"10Mbit"', '{ trace = "/etc/passwd" }', "names /etc/passwd, which is not in the folder"),
        ('"10Mbit"', '{ trace = "../x" }', "which is not in the folder"),
        ('duration = "2s"', 'duration = "900000s"', "set --max-cpu-s"),
    ],
)
def test_what_an_untrusted_bundle_cannot_do(
    bundle: Path, tmp_path: Path, before: str, after: str, said: str
) -> None:
    files = read(bundle)
    assert before in files["scenario.toml"].decode()

    def change(made: Files) -> None:
        text = made["scenario.toml"].decode().replace(before, after)
        made["scenario.toml"] = text.encode()

    path = write(tmp_path / "b.zip", changed(files, change, honest=True))
    with pytest.raises(InputError, match=said):
        tb.verify_bundle(path, max_cpu_s=1)


def test_a_file_beside_the_scenario_is_in_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "up").write_text("".join(f"{ms}\n" for ms in range(1, 200)))
    text = SCENARIO.replace('"10Mbit"', '{ trace = "t/up" }')
    (tmp_path / "s.toml").write_text(text)
    options = RunOptions(out=tmp_path / "results", progress=False)
    path = tb.bundle(tmp_path / "s.toml", tmp_path / "s.zip", options=options)
    assert "t/up" in read(path)
    assert tb.verify_bundle(path, progress=False).same


HARM = """
[[flows]]
name = "newcomer"
cc   = "bbr"

[[assert]]
metric  = "harm_throughput"
flow    = "cubic"
without = "newcomer"
max     = 1.0
"""


def test_a_bundle_has_the_runs_that_harm_needs(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO + HARM)
    options = RunOptions(seeds=2, out=tmp_path / "results", progress=False)
    files = read(tb.bundle(tmp_path / "s.toml", tmp_path / "s.zip", options=options))
    assert len(summaries(files)) == 4
    for name, data in files.items():
        if name.startswith("results/"):
            (tmp_path / "open" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "open" / name).write_bytes(data)
    for run in tb.open_results(tmp_path / "open" / "results"):
        [cubic] = [flow for flow in run.summary["flows"] if flow["name"] == "cubic"]
        assert 0 < cubic["harm"]["newcomer"]["throughput"] < 1
    found = tb.verify_bundle(tmp_path / "s.zip", progress=False)
    assert (found.same, found.runs, found.compared) == (True, 4, 4 * 5)

    def lie(made: Files) -> None:
        made[alone] = made[alone].replace(b'"retransmits": ', b'"retransmits": 9', 1)

    [index] = [json.loads(data) for name, data in files.items() if name.endswith("index.json")]
    alone = f"results/runs/{index['points'][1]['without']['newcomer']}/summary.json"
    path = write(tmp_path / "b.zip", changed(files, lie, honest=True))
    assert [one.file for one in tb.verify_bundle(path, progress=False).differences] == [alone]

    def lose(made: Files) -> None:
        for name in [name for name in made if name.startswith(alone.removesuffix("summary.json"))]:
            del made[name]
            about = json.loads(made["bundle.json"])
            del about["files"][name]
            made["bundle.json"] = json.dumps(about).encode()

    path = write(tmp_path / "c.zip", changed(files, lose, honest=False))
    missing = tb.verify_bundle(path, progress=False).differences
    assert {one.why for one in missing} == {"missing in the bundle"}
    assert len(missing) == 5


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"x" * 100])
def test_what_is_no_bundle_is_a_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "b.zip").write_bytes(data)
    with pytest.raises(InputError, match="not a ZIP file"):
        checking.verify_bundle(tmp_path / "b.zip")
