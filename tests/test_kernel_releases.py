"""Tests the support of several kernel releases. Covers the source of a release, the built guest
kernels, and unsupported features."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailback as tb
from conftest import Archive, Tailback
from tailback.errors import InputError, ScenarioError, TailbackError
from tailback.kernel import build, confine, contents, guest, modules, own, releases, source
from tailback.kernel import config as configs
from tailback.kernel import kit as kits
from tailback.kernel.kit import Kit
from tailback.kernel.steps import Steps
from tailback.running.engines.kernel import Kernel

SCENARIO = """\
duration = "4s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "codel" }
[[flows]]
cc = "cubic"
"""


def made_up(cache: Path, version: str, qdiscs: tuple[str, ...]) -> Kit:
    """Make a guest kernel of empty files. The kernel contains the queue disciplines `qdiscs`."""
    folder = cache / "kits" / f"kit-{version}"
    (folder / "root/modules").mkdir(parents=True)
    (folder / "linux").touch()
    programs = {}
    for name, texts in kits.PROGRAMS.items():
        (folder / name).write_text(name)
        sha256 = hashlib.sha256(name.encode()).hexdigest()
        programs[name] = {"source": kits.source_hash(texts), "sha256": sha256}
    manifest = {
        "format": kits.FORMAT,
        "hash": "",
        "recipe": "ab" * 32,
        "files": contents.of(folder, kits.OF_KIT),
        "programs": programs,
        "kernel": version,
        "package": None,
        "source": "made up",
        "source_tree": "/nowhere",
        "config_hash": "cd" * 32,
        "lacks": [],
        "compiler": "gcc",
        "iproute2": "7.3.0-1",
        "packages": {},
        "qdisc": dict.fromkeys(("htb", *qdiscs)),
        "cc": dict.fromkeys(("cubic", "reno")),
        "modules": {},
    }
    manifest["hash"] = kits.content_hash(manifest)
    (folder / kits.MANIFEST).write_text(json.dumps(manifest))
    return kits.load(folder)


def test_a_module_of_ours_that_an_older_kernel_does_not_build_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = []

    def compile_all_but_one(_kit: Path, name: str, _source: Path, **_options: int) -> None:
        if name == "sch_wred":
            message = f"module {name} does not build:\nno such function"
            raise TailbackError(message)
        built.append(name)

    monkeypatch.setattr(modules, "build", compile_all_but_one)
    older = made_up(tmp_path, "6.1.176", ())
    own.add(older.path, jobs=1, steps=Steps(enabled=True))
    assert {"sch_step", "sch_pi2"} < set(built)
    told = capsys.readouterr().err
    assert "this guest kernel does not have sch_wred" in told
    assert "no such function" in told
    # On the newest kernel, a module that cannot be built is an error.
    newest = made_up(tmp_path, "7.3.4", ())
    with pytest.raises(TailbackError, match="sch_wred"):
        own.add(newest.path, jobs=1, steps=Steps(enabled=False))


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Kit]:
    """Make four guest kernels of three releases. The kernel in use is Linux 7.3. There are two
    guest kernels of Linux 6.1."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("TAILBACK_KIT", str(cache))
    found = {}
    for age, version in enumerate(("6.1.170", "5.10.223", "6.1.176", "7.3.4")):
        new = ("dualpi2",) if version == "7.3.4" else ()
        one = made_up(cache, version, ("codel", *new))
        os.utime(one.path / kits.MANIFEST, (age, age))
        found[one.release] = one
    (cache / "current").symlink_to("kits/kit-7.3.4")
    return found


# --- the source of a release --------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")
def test_the_source_of_a_release_is_debians() -> None:
    held = {"linux-source-6.1": ["6.1.99-1", "6.1.176-1"], "linux-source-6.12": ["6.12.9-1"]}
    assert source.package_of(Archive(held), "6.1") == ("linux-source-6.1", "6.1.176-1")
    with pytest.raises(TailbackError, match=r"no linux-source-5\.10 \(bullseye\)"):
        source.package_of(Archive(held), "5.10")


def test_a_release_has_its_suite() -> None:
    assert releases.suites("5.10") == ("bullseye",)
    assert releases.suites("newest") == releases.NEWEST_SUITES
    with pytest.raises(InputError, match=r'release "6\.2".* 5\.10, 6\.1, 6\.12, newest'):
        releases.suites("6.2")
    assert releases.of("5.10.223") < releases.of("6.1.176") < releases.of("6.12~rc1") < (7, 0)
    assert (releases.text("6.1.176"), releases.of("mine")) == ("6.1", (0, 0))


def test_a_release_and_a_tree_are_not_built_at_once(tailback: Tailback, tmp_path: Path) -> None:
    said = tailback("kernel", "build", "--release", "6.1", "--source", tmp_path)
    assert said.returncode == 2
    assert "--source and --release" in said.stderr
    said = tailback("kernel", "build", "--release", "4.19")
    assert said.returncode == 2
    assert "\n  use one of 5.10, 6.1, 6.12, newest" in said.stderr


def test_older_kernels_are_asked_under_their_names() -> None:
    assert configs.older("7.3.4") == configs.older("6.12.107") == []
    [old] = configs.older("6.3")
    assert dict(old.options) == {"CONFIG_BASE_FULL": "y", "CONFIG_BASE_SMALL": "0"}
    asks = {
        version: {option for one in configs.older(version) for option in one.options}
        for version in ("5.10.223", "6.1.176")
    }
    assert asks["6.1.176"] == {*old.options, "CONFIG_SLUB"}
    assert asks["5.10.223"] == {*asks["6.1.176"], "CONFIG_BLOCK"}
    asked = [configs.parse("CONFIG_BASE_SMALL=n\n", "kit"), old]
    assert configs.refused(asked, {"CONFIG_BASE_FULL": "y", "CONFIG_BASE_SMALL": "0"}) == {}
    assert all(one.reason and (one.make or one.options) for one in releases.HELPS)


def test_what_says_nothing_of_the_newest_kernel_leaves_its_kit() -> None:
    """Configuration for older releases must not change the hash of the newest guest kernel.
    If the hash changed, users would have to build the guest kernel again."""
    ours = [configs.ours()]
    assert build.kernel_hash("a", ours) == build.kernel_hash("a", [*ours, *configs.older("7.3")])
    assert modules.build_flags("7.3.4") == ["ARCH=um"]


# --- boot -------------------------------------------------------------------


def test_older_kernels_trace_their_processes(three: dict[str, Kit], tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for release, mode in (("5.10", "ptrace"), ("6.1", "ptrace"), ("7.3", "seccomp")):
        assert confine.mode(three[release]) == mode
    words = {
        release: guest.boot_words(three[release], 256, 7, "virtual") for release in ("5.10", "7.3")
    }
    assert "seccomp=on" in words["7.3"]
    assert "seccomp=on" not in words["5.10"]
    # An old kernel seeds its random numbers from this word of the kernel's command line.
    assert "TAILBACK_SEED=7" in words["5.10"]
    assert "TAILBACK_SEED=7" not in words["7.3"]


# --- available guest kernels ---------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_kits_are_listed_by_release(tailback: Tailback) -> None:
    said = tailback("kernel", "list", "--json")
    rows = json.loads(said.stdout)["kits"]
    assert [(row["kernel"], row["current"], row["mode"]) for row in rows] == [
        ("5.10.223", False, "ptrace"),
        ("6.1.170", False, "ptrace"),
        ("6.1.176", False, "ptrace"),
        ("7.3.4", True, "seccomp"),
    ]
    lines = tailback("kernel", "list").stdout.splitlines()
    assert [line[:8].strip() for line in lines] == ["5.10", "6.1", "6.1", "* 7.3"]


def test_a_kit_is_named_by_release_version_or_hash(three: dict[str, Kit]) -> None:
    assert kits.named("6.1").version == "6.1.176"
    assert kits.named("6.1.170").version == "6.1.170"
    assert kits.named(three["5.10"].identity[:8]).version == "5.10.223"
    with pytest.raises(InputError) as refused:
        kits.named("6.12")
    assert str(refused.value) == (
        "no guest kernel of 6.12: there are 5.10.223, 6.1.170, 6.1.176, 7.3.4; "
        "run: tailback kernel build --release 6.12"
    )


# --- the key of a scenario --------------------------------------------------------------------


def refused(text: str, engine: str = "kernel") -> str:
    with pytest.raises(ScenarioError) as error:
        tb.check(text, engine=engine)
    [line] = error.value.diagnostics
    return str(line)


@pytest.mark.usefixtures("three")
def test_a_kernel_that_is_not_built_is_refused_before_boot(
    tailback: Tailback, tmp_path: Path
) -> None:
    path = tmp_path / "s.toml"
    path.write_text('kernel = "6.12"\n' + SCENARIO)
    said = tailback("run", path, "--engine", "kernel")
    assert said.returncode == 2
    assert said.stderr.splitlines() == [
        f"error: {path}:1:10: no guest kernel of 6.12: there are 5.10.223, 6.1.170, 6.1.176, 7.3.4",
        '  kernel = "6.12"',
        "           ^^^^^^",
        "  use a kernel that is built, or run `tailback kernel build --release 6.12` first",
    ]
    path.write_text(SCENARIO)
    # Release 5.1 does not match 5.10.
    said = tailback("check", path, "--engine", "kernel", "--set", "kernel=5.1")
    assert (said.returncode, "no guest kernel of 5.1:" in said.stderr) == (2, True)
    assert tailback("check", path, "--engine", "kernel", "--set", "kernel=5.10").returncode == 0
    words = ("--engine", "kernel", "--variant", "new", "--variant", "old:kernel=5.1")
    said = tailback("compare", path, *words)
    assert (said.returncode, "--variant old:kernel" in said.stderr) == (2, True)


@pytest.mark.usefixtures("three")
def test_what_a_kernel_lacks_is_refused_with_those_that_have_it() -> None:
    queue = SCENARIO.replace("codel", "dualpi2")
    tb.check(queue, engine="kernel")
    assert refused('kernel = "6.1"\n' + queue) == (
        "<text>:5:9: Linux 6.1.176 has no queue discipline dualpi2, which came with 6.17; "
        'expected kernel = "7.3"'
    )
    accurate = SCENARIO + 'ecn = true\ntcp = { ecn_feedback = "accecn" }\n'
    tb.check(accurate, engine="kernel")
    assert refused('kernel = "5.10"\n' + accurate) == (
        "<text>:9:24: Linux 5.10.223 has no Accurate ECN, which came with 6.18; "
        'expected kernel = "7.3"'
    )


@pytest.mark.usefixtures("three")
def test_the_simulator_has_no_kernel_to_choose() -> None:
    said = refused('kernel = "6.1"\n' + SCENARIO, "sim")
    assert said.startswith("<text>:1:10: the simulator does not run a kernel; expected --eng")
    assert re.search(r"1:10: wrong value 6\.1 for \"kernel\"", refused("kernel = 6.1\n" + SCENARIO))


def test_each_kernel_has_runs_of_its_own(three: dict[str, Kit]) -> None:
    swept = SCENARIO + '[sweep]\nkernel = ["5.10", "6.1", "7.3"]\n'
    scenario = tb.check(swept, engine="kernel")
    engine = Kernel(kits.current())
    versions = [engine.of(release).version for release in ("5.10", "6.1", "7.3")]
    assert [version.partition("+")[0] for version in versions] == ["5.10.223", "6.1.176", "7.3.4"]
    assert scenario.engine_version == ", ".join(versions)
    assert [point.kernel for point in scenario.points] == ["5.10", "6.1", "7.3"]
    before = {point.run_id for point in scenario.points}
    assert len(before) == 3
    # If this guest kernel is deleted, tailback uses the second guest kernel of Linux 6.1.
    shutil.rmtree(three["6.1"].path)
    after = {point.run_id for point in tb.check(swept, engine="kernel").points}
    assert len(before - after) == 1


# --- with the guest kernels that this machine has ------------------------------------------------


@pytest.fixture(params=["5.10", "6.1", "6.12"])
def built(request: pytest.FixtureRequest) -> Iterator[Kit]:
    try:
        yield kits.named(str(request.param))
    except InputError:
        pytest.skip(f"no guest kernel of {request.param}")


def test_an_older_kernel_runs_and_gives_the_same_bytes(built: Kit, tmp_path: Path) -> None:
    text = SCENARIO.replace("codel", "pie") + 'rtt = "40ms"\n'

    def run(name: str, seed: int) -> tuple[float, bytes]:
        chosen = {"kernel": built.release, "seed": seed}
        [point] = tb.run(text, set=chosen, engine="kernel", out=tmp_path / name)
        [series] = (tmp_path / name / "runs").glob(f"{point.run_id}/series.parquet")
        return point.summary["flows"][0]["throughput_mbit"], series.read_bytes()

    once, again, other = run("a", 1), run("b", 1), run("a", 2)
    assert 15.0 < once[0] < 20.0
    assert once == again
    assert other[1] != once[1]


def test_modules_of_ours_are_built_for_it(built: Kit) -> None:
    mine = {extra["name"] for extra in built.extras() if extra["current"]}
    assert {"tbsched", "tcp_reno_abe", "tcp_cubic_abe"} <= mine
