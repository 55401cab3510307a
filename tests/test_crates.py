"""Tests plugins: crates that are compiled with the engine, and errors for crates that cannot be
compiled.

The tests build one engine that contains three crates. Cargo reuses the engine that `make build` has
compiled.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, ROOT
from tailback.errors import EnginePanic, InputError, RunsFailed, ScenarioError, TailbackError
from tailback.explain import explain
from tailback.kernel import process
from tailback.plugins import asked, begin, copies, crate, shipping, sources, workspace
from tailback.running import engines
from tailback.store import versions

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
    """Make a cache, and beside it a crate of each kind and a scenario that uses the crates."""
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
    # The engine with these crates is cached, so it is not compiled again.
    again = command(shelf, "list", "cc", "--options", *words)
    assert (again.returncode, again.stderr) == (0, "")
    assert "    beta = 0.7  (float, 0.1 to 0.9)" in again.stdout


def test_a_scenario_runs_with_its_crates(shelf: Path, tmp_path: Path) -> None:
    [run] = tb.run(shelf / "all.toml", out=tmp_path)
    mine, reno = run.summary["flows"]
    assert (mine["cc"], reno["cc"]) == ("my-cc", "reno")
    # Both congestion controls halve the window after a loss and add a segment per round trip.
    assert mine["throughput_mbit"] == pytest.approx(reno["throughput_mbit"], rel=0.25)
    [source] = run.summary["traffic"]
    assert source["throughput_mbit"] == pytest.approx(0.97, abs=0.05)
    # The target of the queue is 5 ms.
    queue = run.summary["queues"]["bottleneck"]
    assert queue["delay_ms"]["mean"] < 10
    assert queue["drops"] > 10
    for one in crate.read_all(shelf / name for name in KINDS):
        assert f".{one.name}-{one.hash}" in run.manifest["engine_version"]
    assert versions.engine_of(run.manifest["engine_version"]) == tb.engine_version()
    assert command(shelf, "verify", tmp_path).returncode == 0


def test_what_is_the_same_as_reno_does_the_same(shelf: Path, tmp_path: Path) -> None:
    crates = [shelf / name for name in KINDS]
    text = 'duration = "5s"\n[bottleneck]\nrate = "10Mbit"\n[[flows]]\nname = "a"\ncc = "reno"\n'
    mine = {"flows.a.cc": {"name": "my-cc", "beta": 0.5}}
    with_it = [tb.run(text, set=sets, out=tmp_path, plugins=crates) for sets in ({}, mine)]
    without = tb.run(text, out=tmp_path)
    [reno], [same], [shipped] = *with_it, without
    flows = [run.summary["flows"][0] | {"cc": ""} for run in (reno, same, shipped)]
    assert flows[0] == flows[1] == flows[2]
    # Run ids depend on all compiled plugins, even unused ones.
    assert len({reno.run_id, same.run_id, shipped.run_id}) == 3
    made = tb.compare(text, {"reno": {}, "mine": mine}, seeds=2, out=tmp_path, plugins=crates)
    assert not made.failures


def test_the_ways_to_name_a_crate_are_one(shelf: Path, tmp_path: Path) -> None:
    by_line = tb.check(shelf / "all.toml").id
    plain = shelf / "plain.toml"
    plain.write_text(SCENARIO.partition("\n")[2], encoding="utf-8")
    assert tb.check(plain, plugins=[shelf / name for name in KINDS]).id == by_line
    words = [word for name in KINDS for word in ("--with", name)]
    done = command(shelf, "run", plain, *words, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(done.stdout)["points"][0]["run_id"]
        == tb.check(plain, plugins=[shelf / name for name in KINDS]).points[0].run_id
    )
    variable = os.pathsep.join(str(shelf / name) for name in KINDS)
    checked = command(shelf, "check", plain, **{asked.VARIABLE: variable})
    assert (checked.returncode, checked.stderr) == (0, "")
    with pytest.raises(ScenarioError, match='unknown congestion control "my-cc"'):
        tb.check(plain)


def test_their_tests_are_those_of_tailback(shelf: Path) -> None:
    """Check that the test of a new crate calls the functions that the engine's own tests call.
    Cargo runs the crate's test, so this test only reads its source."""
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
    beside = ("README.md", "scenario.toml", "base.tailback.json", "LICENSE", "runs/notes.txt")
    for aside in (*beside, "tests/x.rs", "target/x", "results/x", "Cargo.lock", ".git/HEAD"):
        (folder / aside).parent.mkdir(exist_ok=True)
        (folder / aside).write_text("other", encoding="utf-8")
    assert crate.read(folder) == before
    (folder / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    assert crate.read(folder).digest != before.digest


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ('const A: &[u8] = include_bytes!("../keys/a.der");', "keys/a.der"),
        ('const A: &str = include_str!("../tests/a.txt");', "tests/a.txt"),
        ('const A: &str = include_str!("../../shared/a.txt");', "../shared/a.txt"),
        (
            'const A: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/a.txt"));',
            "a.txt",
        ),
        ('include_dir!("$CARGO_MANIFEST_DIR/pages");', "pages/deep/a.html"),
        ("include!(table!());", "table.txt"),
        ('#[template(path = "a.html")] struct A;', "templates/a.html"),
    ],
)
def test_the_hash_has_what_a_source_includes(
    shelf: Path, tmp_path: Path, source: str, file: str
) -> None:
    folder = tmp_path / "my-cc"
    shutil.copytree(shelf / "my-cc", folder)
    with (folder / "src/lib.rs").open("a", encoding="utf-8") as lib:
        lib.write(source)
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("one", encoding="utf-8")
    before = crate.read(folder).digest
    path.write_text("other", encoding="utf-8")
    assert crate.read(folder).digest != before


def test_with_a_build_script_every_file_is_part_of_the_hash(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my-cc"
    shutil.copytree(shelf / "my-cc", folder)
    (folder / "build.rs").write_text("fn main() {}\n", encoding="utf-8")
    before = crate.read(folder).digest
    (folder / "scenario.toml").write_text("other", encoding="utf-8")
    assert crate.read(folder).digest != before


def test_a_plugin_may_bring_its_own_randomness(shelf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my-cc"
    shutil.copytree(shelf / "my-cc", folder)
    assert not crate.read(folder).own_randomness
    manifest = folder / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    table = "[package.metadata.tailback]\ngetrandom = "
    manifest.write_text(f'{text}\n{table}"custom"\n', encoding="utf-8")
    assert crate.read(folder).own_randomness
    manifest.write_text(f'{text}\n{table}"other"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"metadata\.tailback.*custom"):
        crate.read(folder)


def test_crates_by_their_paths_are_part_of_it(shelf: Path, tmp_path: Path) -> None:
    shutil.copytree(shelf / "my-cc", tmp_path / "my-cc")
    shutil.copytree(shelf / "my-queue", tmp_path / "inner")
    manifest = tmp_path / "my-cc" / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f'{text}\n[build-dependencies]\ninner = {{ path = "../inner" }}\n')
    before = crate.read(tmp_path / "my-cc").digest
    (tmp_path / "inner" / "src" / "lib.rs").write_text("// other\n", encoding="utf-8")
    assert crate.read(tmp_path / "my-cc").digest != before


# --- errors -----------------------------------------------------------------------------


def changed(shelf: Path, into: Path, name: str, *edits: tuple[str, str]) -> Path:
    """Copy the congestion control under another name, and edit its source."""
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
    with pytest.raises(InputError, match=r"no Cargo\.toml in it, so it is not a crate"):
        crate.read(tmp_path)
    manifest = tmp_path / "Cargo.toml"
    for text, message in (
        ("[package", r"Cargo\.toml: "),
        ("[package]\nversion = 3\n", r"expected \[package\] with a name"),
        ('[package]\nname = "../x"\n', r"expected \[package\] with a name"),
        ('[package]\nname = "x"\n[workspace]\n', r"its own \[workspace\]; remove"),
    ):
        manifest.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            crate.read(tmp_path)
    other = changed(shelf, tmp_path, "other")
    shutil.copytree(other, tmp_path / "twin")
    with pytest.raises(InputError, match="are both crates with the name other"):
        crate.read_all([other, tmp_path / "twin"])
    done = command(shelf, "run", "all.toml", "--with", "nowhere")
    assert (done.returncode, done.stderr.split("\n")[0]) == (2, "error: nowhere: no such folder")


def test_a_stack_of_the_checkout_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {path.parent.name for path in ROOT.glob("stacks/*/Cargo.toml")} == set(crate.READY_MADE)
    wanted = tmp_path / "stacks" / "quinn"
    monkeypatch.setattr(sources, "find", lambda: sources.Sources(ROOT, True))
    with pytest.raises(InputError, match=f"no such folder; write {ROOT / 'stacks' / 'quinn'}$"):
        crate.read(wanted)
    # A wheel has the engine's sources but no stacks.
    monkeypatch.setattr(sources, "find", lambda: sources.Sources(tmp_path, False))
    with pytest.raises(InputError, match="write the path of stacks/quinn in a checkout of tail"):
        crate.read(wanted)


def test_a_scenario_says_where_it_names_what_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('duration = "1s"\nwith = ["./gone"]\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"f\.toml:2:9: no folder './gone'"):
        tb.check(file)


def test_what_rustc_says_is_shown(shelf: Path, tmp_path: Path) -> None:
    folder = changed(shelf, tmp_path, "wrong", ("self.beta) as u32", "self.betta) as u32"))
    done = command(tmp_path, "run", "--with", "wrong", shelf / "all.toml")
    assert done.returncode == 2
    assert (
        "wrong does not compile with the engine:\n  error[E0609]: no field `betta`" in done.stderr
    )
    assert "--> wrong/src/lib.rs:" in done.stderr
    assert "Traceback" not in done.stderr
    lost = [("pub fn register(registry: &mut Registry)", "pub fn other(registry: &mut Registry)")]
    folder = changed(shelf, tmp_path, "lost", *lost)
    with pytest.raises(InputError, match=r"lost registers nothing; write in src/lib\.rs"):
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
            plugins=[folder],
        )


def test_without_cargo(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TailbackError, match="cargo, which compiles my-cc, is not there; install"):
        workspace.build([crate.read(shelf / "my-cc")])
    done = command(shelf, "build", "--with", "my-cc")
    assert done.returncode == 1


def test_nothing_is_overwritten_and_names_are_new(shelf: Path, tmp_path: Path) -> None:
    for kind, name, message in (
        ("cc", "my-cc", "exists already; name another folder"),
        ("cc", "cubic", "cubic is one of tailback's own: bbr, bbr2, bbr3, cubic"),
        ("queue", "My Queue", "cannot name a crate"),
        ("cc", "fn", '"fn" is a keyword of Rust and cannot name a crate; choose another name'),
        ("queue", "self", '"self" is a keyword of Rust'),
        ("cc", "core", '"core" is a library of Rust'),
        ("cc", "std", '"std" is a library of Rust'),
        ("cc", "proc-macro", '"proc-macro" is a library of Rust'),
        ("cc", "tailback-engine", '"tailback-engine" is a package that the engine is compiled'),
        ("cc", "tailback_own", '"tailback_own" is a package that the engine is compiled'),
        ("traffic", "serde_json", '"serde_json" is a package that the engine is compiled'),
        ("link", "x", 'crate "link" does not exist; expected one of cc, queue, traffic, stack'),
    ):
        with pytest.raises(InputError, match=message):
            begin.write(kind, shelf / name)
    done = command(tmp_path, "new", "--crate", "queue", "mine")
    assert done.returncode == 0
    assert "mine/src/lib.rs" in done.stdout
    assert "tailback run mine/scenario.toml" in done.stderr


def test_a_clone_on_another_machine_has_a_valid_lock(tmp_path: Path) -> None:
    """Follow the recipe for continuous integration: the clone gets the paths of this machine from
    a new crate, and its Cargo.lock from git."""
    begin.write("stack", tmp_path / "my-stack")
    begin.write("stack", tmp_path / "paths" / "my-stack")

    def cargo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["cargo", *words, "--offline"], cwd=folder, capture_output=True, text=True
        )

    made = cargo(tmp_path / "my-stack", "generate-lockfile")
    assert made.returncode == 0, made.stderr
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path / "my-stack", check=True)
    clone = tmp_path / "clone"
    into = ["git", "checkout-index", "--all", f"--prefix={clone}/"]
    subprocess.run(into, cwd=tmp_path / "my-stack", check=True)
    tested = ("metadata", "--locked", "--format-version", "1")
    without = cargo(clone, *tested)
    assert without.returncode != 0
    assert "no matching package named `tailback-" in without.stderr
    shutil.copytree(tmp_path / "paths" / "my-stack" / ".cargo", clone / ".cargo")
    done = cargo(clone, *tested)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_leaves_no_half_a_crate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []
    whole = Path.write_text

    def write(path: Path, text: str, encoding: str) -> int:
        written.append(path)
        if len(written) == 3:
            path.touch()
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(OSError, match="No space left on device") as caught:
        begin.write("cc", tmp_path / "mine")
    assert caught.value.filename == str(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
    # After the disk has free space again, the crate can be written.
    assert all(path.is_file() for path in begin.write("cc", tmp_path / "mine"))


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
    # Files that another file includes by path are also in the package.
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
        tb.check(text, set={"flows[0].cc": {"name": "early", "beta": 0.9}}, plugins=[folder])


# --- faulty plugins ------------------------------------------------------------

WRAPPERS = """\
use tailback_engine::cc::{Build, CongestionControl, Signal, View, Window, cubic};
use tailback_engine::crates::Registry;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, complete_defaults, no_finish};

pub fn register(registry: &mut Registry) {
    REGISTER
}

const fn entry(name: &'static str, build: Build) -> Entry<Build> {
    Entry {
        name,
        doc: "A wrapper.",
        follows: "nothing",
        options: &[],
        kernel: Kernel::None,
        rules: Rules::NONE,
        finish: no_finish,
        build,
    }
}

fn inside() -> Box<dyn CongestionControl> {
    (cubic::ENTRY.build)(&complete_defaults(&cubic::ENTRY))
}

struct Whole {
    inner: Box<dyn CongestionControl>,
}

impl CongestionControl for Whole {
    tailback_engine::forward_hooks!(inner);
}

static WHOLE: Entry<Build> = entry("whole", |_| Box::new(Whole { inner: inside() }));

/// As it is, but for a window of 20 segments.
struct AtTwenty {
    inner: Box<dyn CongestionControl>,
    act: fn(&mut Window),
}

impl CongestionControl for AtTwenty {
    tailback_engine::forward_hooks!(inner, except cong_avoid);

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        self.inner.cong_avoid(view, window, acked);
        if window.cwnd > 20 {
            (self.act)(window);
        }
    }
}

fn never_returns(window: &mut Window) {
    loop {
        window.cwnd = std::hint::black_box(window.cwnd);
    }
}

fn stops(window: &mut Window) {
    window.ssthresh = window.cwnd;
}

fn says(window: &mut Window) {
    window.ssthresh = window.cwnd;
    window.left_slow_start.get_or_insert("twenty are enough");
}

static ZERO: Entry<Build> = entry("zero", |_| {
    Box::new(AtTwenty { inner: inside(), act: |window| window.cwnd = 0 })
});
static LOOPS: Entry<Build> = entry("loops", |_| {
    Box::new(AtTwenty { inner: inside(), act: never_returns })
});
static STOPS: Entry<Build> = entry("stops", |_| {
    Box::new(AtTwenty { inner: inside(), act: stops })
});
static SAYS: Entry<Build> = entry("says", |_| {
    Box::new(AtTwenty { inner: inside(), act: says })
});

/// HyStart lives in `pkts_acked`, which is not here.
struct Forgets(Box<dyn CongestionControl>);

impl CongestionControl for Forgets {
    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        self.0.ssthresh(view, window, signal)
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        self.0.cong_avoid(view, window, acked);
    }
}

static FORGETS: Entry<Build> = entry("forgets", |_| Box::new(Forgets(inside())));
"""


def wrappers(shelf: Path, into: Path, crate_name: str, *entries: str) -> Path:
    """Return a crate that registers these entries of `WRAPPERS`."""
    folder = changed(shelf, into, crate_name)
    lines = "\n    ".join(f"registry.cc(&{entry});" for entry in entries)
    text = "#![allow(dead_code)]\n\n" + WRAPPERS.replace("REGISTER", lines)
    (folder / "src" / "lib.rs").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def wrapped(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ("WHOLE", "ZERO", "LOOPS", "STOPS", "SAYS")
    return wrappers(shelf, tmp_path_factory.mktemp("wrapped"), "wrapped", *names)


ONE = """\
duration = "3s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fifo", limit = "10bdp" }
[path]
rtt = "40ms"
[[flows]]
name = "it"
cc = "cubic"
"""


def test_a_wrapper_by_the_line_is_what_it_wraps(wrapped: Path, tmp_path: Path) -> None:
    sets: dict[str, object] = {"flows.it.cc": "whole"}
    [same] = tb.run(ONE, set=sets, out=tmp_path, plugins=[wrapped])
    [shipped] = tb.run(ONE, out=tmp_path)
    flows = [run.summary["flows"][0] | {"cc": ""} for run in (same, shipped)]
    assert flows[0] == flows[1]
    ends = [explain(run.stored).to_dict()["flows"][0]["slow_start"] for run in (same, shipped)]
    assert ends[0] == ends[1]
    assert ends[0]["why"].startswith("hystart_")


def test_why_slow_start_ended_is_what_the_plugin_says(wrapped: Path, tmp_path: Path) -> None:
    for name, why, words in (
        ("stops", "own", "a decision of the congestion control, which reports no reason"),
        ("says", "twenty are enough", '"twenty are enough", as its congestion control says'),
    ):
        sets: dict[str, object] = {"flows.it.cc": name}
        [run] = tb.run(ONE, set=sets, out=tmp_path, plugins=[wrapped])
        flow = explain(run.stored).to_dict()["flows"][0]
        assert flow["slow_start"]["why"] == why
        assert flow["slow_start"]["cwnd"] == 21
        assert any(words in sentence for sentence in flow["sentences"])


def test_a_window_of_0_ends_the_run(wrapped: Path, tmp_path: Path) -> None:
    sets: dict[str, object] = {"sweep": {"flows.it.cc": ["zero", "whole"]}}
    with pytest.raises(RunsFailed) as caught:
        tb.run(ONE, set=sets, out=tmp_path, plugins=[wrapped])
    [failure] = caught.value.failures
    assert re.fullmatch(
        r"run \w{20} \(flows\.it\.cc = zero, seed 1\): the congestion control \"zero\" left cwnd "
        r"at 0 segments in cong_avoid at 0\.\d{6} s; leave at least 1, or nothing more is sent",
        failure,
    )
    # The run with the other congestion control has finished, and is in the results.
    [results] = caught.value.results
    assert [run.labels["flows.it.cc"] for run in results] == ["whole"]


def test_a_hook_that_never_returns_costs_its_run_alone(
    shelf: Path, wrapped: Path, tmp_path: Path
) -> None:
    file = tmp_path / "f.toml"
    text = ONE.replace("[[flows]]", '[sweep]\n"flows.it.cc" = ["loops", "whole"]\n[[flows]]')
    file.write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    words = ("run", file, "--with", wrapped, "--jobs", "1", "--out", out)
    done = command(shelf, *words, TAILBACK_PLUGIN_TIMEOUT="5")
    assert done.returncode == 1, done.stderr
    assert '"loops" has not returned from cong_avoid for 5 s, at 0.' in done.stderr
    assert "Traceback" not in done.stderr
    # The run that hangs blocked the pool's only worker thread, so the next run needed a new thread.
    results = tb.open_results(out)
    assert [run.labels["flows.it.cc"] for run in results] == ["whole"]
    assert command(shelf, "verify", out).returncode == 0


def test_a_hook_that_is_forgotten_is_named(shelf: Path, tmp_path: Path) -> None:
    folder = wrappers(shelf, tmp_path, "forgetful", "FORGETS")
    with pytest.raises(InputError) as caught:
        copies.native([folder])
    assert str(caught.value) == (
        '"forgets" wraps cubic and does not pass on needs, init, pkts_acked, cwnd_event, '
        "set_state, cwr_begin, loss_in_cwr; write tailback_engine::forward_hooks!(FIELD) in its "
        "impl to pass on all hooks, or write these hooks by hand (empty, to do nothing)"
    )


def test_results_of_a_plugin_are_no_other_engines(
    shelf: Path, wrapped: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    tb.run(ONE, set={"flows.it.cc": "whole"}, out=out, plugins=[wrapped])
    target = tmp_path / "x.svg"
    for words in (
        ("plot", out, "--out", target),
        ("plot", out, "--out", target, "--with", wrapped),
        ("results", "show", "--out", out),
        ("report", out),
    ):
        done = command(shelf, *words)
        assert done.returncode == 0, done.stderr
        assert "and this is" not in done.stderr
    # A plugin with other sources is a different plugin.
    other = tmp_path / "wrapped"
    shutil.copytree(wrapped, other)
    with (other / "src" / "lib.rs").open("a", encoding="utf-8") as file:
        file.write("// changed\n")
    hashes = [crate.read(folder).hash for folder in (wrapped, other)]
    done = command(shelf, "plot", out, "--out", target, "--with", other)
    assert f".wrapped-{hashes[0]}, and this is wrapped-{hashes[1]}" in done.stderr
    # tailback also reports that the engine has another version.
    engine = tb.engine_version()
    assert engines.unlike("sim", f"{engine}.wrapped-{hashes[0]}") == ""
    strange = engine[:-1] + ("0" if engine[-1] != "0" else "1")
    assert engines.unlike("sim", f"{strange}.wrapped-{hashes[0]}") == f"sim {engine}"


def test_a_published_experiment_takes_a_crate(shelf: Path, tmp_path: Path) -> None:
    done = command(shelf, "reproduce", "--help")
    assert "--with DIR" in done.stdout
    done = command(tmp_path, "reproduce", "abe-2017", "--quick", "--with", "nowhere")
    assert (done.returncode, done.stderr.split("\n")[0]) == (2, "error: nowhere: no such folder")


def test_lines_of_progress_that_cargo_redraws_are_read() -> None:
    drawn = r"   Compiling a v1.0.0\n    Building [=>    ] 1/3: a\r    Building [==>   ] 2/3: b\r"
    seen: list[str] = []
    process.run(["printf", drawn], on_line=seen.append, redraws=True)
    steps = [step.groups() for line in seen if (step := workspace._STEP.match(line))]
    assert steps == [("1", "3"), ("2", "3")]
    assert all(workspace.QUIET.fullmatch(line) for line in seen)
