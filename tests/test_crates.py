"""Algorithms of one's own: crates that are compiled with the engine, and what is said of others.

One copy with three crates is built; cargo finds the engine as `make build` has left it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, ROOT
from tailback.crates import asked, begin, copies, crate, shipping, sources, workspace
from tailback.errors import EnginePanic, InputError, RunsFailed, ScenarioError, TailbackError

KINDS = {"my-cc": "cc", "my-queue": "queue", "my-traffic": "traffic"}

SCENARIO = """\
with = ["my-cc", "my-queue", "my-traffic"]
duration = "5s"
[bottleneck]
rate = "10Mbit"
queue = "my-queue"
[path]
rtt = "20ms"
[[flows]]
cc = { name = "my-cc", beta = 0.5 }
[[flows]]
cc = "reno"
[[traffic]]
kind = "my-traffic"
rate = "1Mbit"
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache, and beside it a crate of each kind and a scenario that uses them."""
    folder = tmp_path_factory.mktemp("crates")
    for name, kind in KINDS.items():
        begin.write(kind, folder / name)
    (folder / "all.toml").write_text(SCENARIO, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _cache(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(shelf / "cache"))
    monkeypatch.delenv(asked.VARIABLE, raising=False)


def command(
    shelf: Path, *words: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=shelf,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_a_copy_says_what_it_has(shelf: Path) -> None:
    words = [word for name in KINDS for word in ("--with", name)]
    done = command(shelf, "build", *words)
    assert done.returncode == 0, done.stderr
    for line in ("  cc my-cc: ", "  aqm my-queue: ", "  traffic my-traffic: "):
        assert line in done.stdout
    assert "compiling my-cc, my-queue, my-traffic with the engine" in done.stderr
    # It is there now, and is not compiled again.
    again = command(shelf, "list", "cc", "--options", *words)
    assert (again.returncode, again.stderr) == (0, "")
    assert "    beta = 0.7  (float, 0.1 to 0.9)" in again.stdout


def test_a_scenario_runs_with_its_crates(shelf: Path, tmp_path: Path) -> None:
    [run] = tb.run(shelf / "all.toml", out=tmp_path)
    mine, reno = run.summary["flows"]
    assert (mine["cc"], reno["cc"]) == ("my-cc", "reno")
    # Half of the window is left of both, and both gain a segment in each round.
    assert mine["throughput_mbit"] == pytest.approx(reno["throughput_mbit"], rel=0.25)
    [source] = run.summary["traffic"]
    assert source["throughput_mbit"] == pytest.approx(0.97, abs=0.05)
    # The target of the queue is 5 ms.
    queue = run.summary["queues"]["bottleneck"]
    assert queue["delay_ms"]["mean"] < 10
    assert queue["drops"] > 10
    for one in crate.read_all(shelf / name for name in KINDS):
        assert f".{one.name}-{one.hash}" in run.manifest["engine_version"]
    assert crate.engine_of(run.manifest["engine_version"]) == tb.engine_version()
    assert command(shelf, "verify", tmp_path).returncode == 0


def test_what_is_the_same_as_reno_does_the_same(shelf: Path, tmp_path: Path) -> None:
    crates = [shelf / name for name in KINDS]
    text = 'duration = "5s"\n[bottleneck]\nrate = "10Mbit"\n[[flows]]\nname = "a"\ncc = "reno"\n'
    mine = {"flows.a.cc": {"name": "my-cc", "beta": 0.5}}
    with_it = [tb.run(text, set=sets, out=tmp_path, crates=crates) for sets in ({}, mine)]
    without = tb.run(text, out=tmp_path)
    [reno], [same], [shipped] = *with_it, without
    flows = [run.summary["flows"][0] | {"cc": ""} for run in (reno, same, shipped)]
    assert flows[0] == flows[1] == flows[2]
    # What was compiled in is part of what names a run, used or not.
    assert len({reno.run_id, same.run_id, shipped.run_id}) == 3
    made = tb.compare(text, {"reno": {}, "mine": mine}, seeds=2, out=tmp_path, crates=crates)
    assert not made.failures


def test_the_ways_to_name_a_crate_are_one(shelf: Path, tmp_path: Path) -> None:
    by_line = tb.check(shelf / "all.toml").id
    plain = shelf / "plain.toml"
    plain.write_text(SCENARIO.partition("\n")[2], encoding="utf-8")
    assert tb.check(plain, crates=[shelf / name for name in KINDS]).id == by_line
    words = [word for name in KINDS for word in ("--with", name)]
    done = command(shelf, "run", plain, *words, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(done.stdout)["points"][0]["run_id"]
        == tb.check(plain, crates=[shelf / name for name in KINDS]).points[0].run_id
    )
    variable = os.pathsep.join(str(shelf / name) for name in KINDS)
    checked = command(shelf, "check", plain, **{asked.VARIABLE: variable})
    assert (checked.returncode, checked.stderr) == (0, "")
    with pytest.raises(ScenarioError, match='unknown congestion control "my-cc"'):
        tb.check(plain)


def test_their_tests_are_those_of_tailback(shelf: Path) -> None:
    """The line of a crate's test is compiled and run by cargo; here it is read only: the functions
    it calls are those that the engine's own tests call."""
    text = (shelf / "my-cc" / "tests" / "conformance.rs").read_text(encoding="utf-8")
    assert "tailback_conformance::tests!(my_cc::register);" in text
    for kind in ("cc", "queue", "traffic"):
        source = ROOT / "crates" / "conformance" / "src" / f"{kind}.rs"
        assert "pub fn conforms(entry" in source.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KINDS)
def test_what_is_begun_is_formatted(shelf: Path, name: str) -> None:
    files = [shelf / name / "src/lib.rs", shelf / name / "tests/conformance.rs"]
    subprocess.run(["rustfmt", "--check", "--edition", "2024", *files], check=True)


def test_the_hash_is_that_of_what_is_compiled(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my-cc"
    shutil.copytree(shelf / "my-cc", folder)
    before = crate.read(folder)
    assert before.digest == crate.read(shelf / "my-cc").digest
    for aside in ("tests/conformance.rs", "README.md", "target/x", "Cargo.lock", ".git/HEAD"):
        (folder / aside).parent.mkdir(exist_ok=True)
        (folder / aside).write_text("other", encoding="utf-8")
    assert crate.read(folder) == before
    (folder / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    assert crate.read(folder).digest != before.digest


def test_crates_by_their_paths_are_part_of_it(shelf: Path, tmp_path: Path) -> None:
    shutil.copytree(shelf / "my-cc", tmp_path / "my-cc")
    shutil.copytree(shelf / "my-queue", tmp_path / "inner")
    manifest = tmp_path / "my-cc" / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f'{text}\n[build-dependencies]\ninner = {{ path = "../inner" }}\n')
    before = crate.read(tmp_path / "my-cc").digest
    (tmp_path / "inner" / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    assert crate.read(tmp_path / "my-cc").digest != before


# --- what is wrong -----------------------------------------------------------------------------


def changed(shelf: Path, into: Path, name: str, *edits: tuple[str, str]) -> Path:
    """The congestion control under another name, with other texts in its source."""
    folder = into / name
    shutil.copytree(shelf / "my-cc", folder)
    for path in (folder / "Cargo.toml", folder / "src" / "lib.rs"):
        text = path.read_text(encoding="utf-8").replace('"my-cc"', f'"{name}"')
        for old, new in edits if path.suffix == ".rs" else ():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return folder


def test_folders_that_are_no_crates(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; expected that of a crate"):
        crate.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no Cargo\.toml in it, so it is no crate"):
        crate.read(tmp_path)
    manifest = tmp_path / "Cargo.toml"
    for text, message in (
        ("[package", r"Cargo\.toml: "),
        ("[package]\nversion = 3\n", r"expected \[package\] with a name"),
        ('[package]\nname = "../x"\n', r"expected \[package\] with a name"),
        ('[package]\nname = "x"\n[workspace]\n', r"\[workspace\]: .* expected none"),
    ):
        manifest.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            crate.read(tmp_path)
    other = changed(shelf, tmp_path, "other")
    shutil.copytree(other, tmp_path / "twin")
    with pytest.raises(InputError, match="are both crates of the name other"):
        crate.read_all([other, tmp_path / "twin"])
    done = command(shelf, "run", "all.toml", "--with", "nowhere")
    assert (done.returncode, done.stderr.partition(";")[0]) == (2, "nowhere: no such folder")


def test_a_scenario_says_where_it_names_what_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('duration = "1s"\nwith = ["./gone"]\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"f\.toml:2:9: no folder './gone'"):
        tb.check(file)


def test_what_rustc_says_is_shown(shelf: Path, tmp_path: Path) -> None:
    folder = changed(shelf, tmp_path, "wrong", ("self.beta) as u32", "self.betta) as u32"))
    done = command(tmp_path, "run", "--with", "wrong", shelf / "all.toml")
    assert done.returncode == 2
    assert "wrong does not compile with the engine:\nerror[E0609]: no field `betta`" in done.stderr
    assert "--> wrong/src/lib.rs:" in done.stderr
    assert "Traceback" not in done.stderr
    lost = [("pub fn register(registry: &mut Registry)", "pub fn other(registry: &mut Registry)")]
    folder = changed(shelf, tmp_path, "lost", *lost)
    with pytest.raises(InputError, match=r"lost registers nothing; expected in src/lib\.rs"):
        copies.native([folder])


def test_what_is_registered_wrongly_is_said_at_once(shelf: Path, tmp_path: Path) -> None:
    folders = [
        changed(shelf, tmp_path, "nothing", ("registry.cc(&ENTRY);", "_ = registry;")),
        changed(shelf, tmp_path, "taken", ('name: "taken"', 'name: "cubic"')),
    ]
    with pytest.raises(InputError) as caught:
        copies.native(folders)
    assert str(caught.value).splitlines() == [
        f"{folders[0]}: it registers nothing",
        f'{folders[1]}: the congestion control "cubic" is one of tailback\'s own',
    ]


def test_a_panic_costs_its_run_and_says_where(shelf: Path, tmp_path: Path) -> None:
    folder = changed(
        shelf,
        tmp_path,
        "panics",
        ("acked: u32) {", 'acked: u32) {\n        assert!(window.cwnd < 20, "too many");'),
    )
    with pytest.raises(RunsFailed, match=r"panicked at panics/src/lib\.rs:\d+:\d+:\ntoo many"):
        tb.run(
            'duration = "5s"\n[bottleneck]\nrate = "10Mbit"\n[[flows]]\ncc = "panics"\n',
            out=tmp_path / "out",
            crates=[folder],
        )


def test_without_cargo(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TailbackError, match=r"cargo is not there, which compiles my-cc; Rust 1\."):
        workspace.build([crate.read(shelf / "my-cc")])
    done = command(shelf, "build", "--with", "my-cc")
    assert done.returncode == 1


def test_nothing_is_overwritten_and_names_are_new(shelf: Path, tmp_path: Path) -> None:
    for kind, name, message in (
        ("cc", "my-cc", "is there already; nothing is overwritten"),
        ("cc", "cubic", "cubic is one of tailback's own: bbr, bbr3, cubic"),
        ("queue", "My Queue", "cannot name a crate"),
        ("link", "x", 'crate "link" does not exist; expected one of cc, queue, traffic'),
    ):
        with pytest.raises(InputError, match=message):
            begin.write(kind, shelf / name)
    done = command(tmp_path, "new", "--crate", "queue", "mine")
    assert done.returncode == 0
    assert "mine/src/lib.rs" in done.stdout
    assert "tailback run mine/scenario.toml" in done.stderr


def test_what_a_package_has_is_enough(tmp_path: Path) -> None:
    shipping.copy_to(tmp_path)
    shipped = sources.Sources(tmp_path, checkout=False)
    members = [f"crates/{name}" for name in shipping.CRATES]
    (tmp_path / "Cargo.toml").write_text(shipped.manifest(members), encoding="utf-8")
    words = ["cargo", "metadata", "--offline", "--format-version=1"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["workspace_members"]) == len(shipping.CRATES)
    paths = [Path(p["manifest_path"]) for p in found["packages"] if p["source"] is None]
    assert all(tmp_path.resolve() in path.parents for path in paths)
    # Files that another one takes in by their paths are there, too.
    for crate_file in ("engine/src/cc/testing.rs", "engine/tests/common/mod.rs"):
        assert (tmp_path / "crates" / crate_file).exists()


def test_a_panic_while_a_scenario_is_read_is_told(shelf: Path, tmp_path: Path) -> None:
    folder = changed(
        shelf,
        tmp_path,
        "early",
        (
            "fn of(options: &Options) -> MyCc {",
            'fn of(options: &Options) -> MyCc {\nassert!(options.float("beta") < 0.8, "too much");',
        ),
    )
    text = 'duration = "1s"\n[bottleneck]\nrate = "1Mbit"\n[[flows]]\ncc = "early"\n'
    with pytest.raises(EnginePanic, match="too much"):
        tb.check(text, set={"flows[0].cc": {"name": "early", "beta": 0.9}}, crates=[folder])
