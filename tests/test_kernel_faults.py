"""Tests guests that fail, guests that try to access this machine, and the user's modules."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tailback as tb
from conftest import COMMAND, ROOT, SCENARIO, Tailback, guests, wait_for
from tailback.errors import Cancelled, GuestFailed, RunsFailed, ScenarioError
from tailback.kernel import console, guest
from tailback.kernel.kit import Kit


def leftovers(out: Path) -> list[str]:
    """Return the files that are left in the folder of runs."""
    return [path.name for path in (out / "runs").glob(".*")]


def has_landlock() -> bool:
    """Return whether this machine can confine a process's file access with Landlock. The launcher
    uses the same check."""
    create_ruleset, version = 444, 1
    return bool(ctypes.CDLL(None).syscall(create_ruleset, None, 0, version) > 0)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.usefixtures("kernel_kit")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'queue = { aqm = "fq_codl", kernel = true }',
            r"8:9: this kernel has no queue discipline fq_codl\n(.*\n){2}  use one of fq_codel, ",
        ),
        ('queue = { aqm = "codel", module = "no" }', "8:35: the guest kernel has no module no"),
    ],
)
def test_a_queue_the_kernel_lacks_has_its_place(
    tailback: Tailback, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "mine.toml"
    text = SCENARIO.replace('queue = { aqm = "codel", ecn = true }', line)
    file.write_text(text, encoding="utf-8")
    for command in ("run", "check"):
        done = tailback(command, file, "--engine", "kernel")
        assert (done.returncode, done.stdout) == (2, "")
        assert re.match(rf"error: {re.escape(str(file))}:{message}", done.stderr), done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("kernel_kit")
def test_a_congestion_control_the_kernel_lacks_has_its_place(
    tailback: Tailback, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        SCENARIO.replace('cc = "cubic"', 'cc = { name = "vegs", kernel = true }'), encoding="utf-8"
    )
    done = tailback("run", file, "--engine", "kernel")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:14:6: this kernel has no congestion control vegs" in done.stderr
    assert "\n  use one of vegas, " in done.stderr


def test_a_kit_that_is_not_built_names_the_command(
    tailback: Tailback, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_KIT", "/nonexistent")
    for args in (["run", scenario, "--engine", "kernel", "--json"], ["kernel", "show", scenario]):
        done = tailback(*args)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "error: the guest kernel is not built\n  run: tailback kernel build\n"


@pytest.mark.usefixtures("kernel_kit")
def test_settings_of_the_guest_are_checked(
    tailback: Tailback, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_GUEST_MIB", "much")
    done = tailback("run", scenario, "--engine", "kernel")
    assert done.returncode == 2
    assert done.stderr == (
        "error: TAILBACK_GUEST_MIB=much is not valid\n  use a number of at least 1\n"
    )


# --- guests that fail ------------------------------------------------------------------


@pytest.mark.usefixtures("kernel_kit")
def test_what_tc_refuses_fails_its_run_only(tailback: Tailback, scenario: Path) -> None:
    queues = [{"aqm": "sfq", "kernel": True, "args": args} for args in ("limit 50", "limt 50")]
    text = scenario.read_text(encoding="utf-8")
    tables = ", ".join(
        f'{{ aqm = "sfq", kernel = true, args = "{queue["args"]}" }}' for queue in queues
    )
    scenario.write_text(text + f'[sweep]\n"bottleneck.queue" = [{tables}]\n', encoding="utf-8")
    done = tailback("run", scenario, "--engine", "kernel", "--json")
    assert done.returncode == 1
    [point] = json.loads(done.stdout)["points"]
    assert point["queue"]["packets"] > 0
    # The error contains the line that tc rejected, and tc's message.
    assert "tc qdisc add dev out parent 1:1 handle 10: sfq limt 50" in done.stderr
    assert 'What is "limt"?' in done.stderr
    again = tailback("run", scenario, "--engine", "kernel", "--json")
    assert again.returncode == 1, "a run that failed is tried again"
    assert json.loads(again.stdout) == json.loads(done.stdout)


def test_a_panic_costs_its_run_and_is_shown(own_kit: Kit, tmp_path: Path) -> None:
    del own_kit
    sweep = SCENARIO + '[sweep]\n"flows.cubic.cc" = [{ name = "panics", kernel = true, module = '
    sweep += '"own" }, "reno"]\n'
    with pytest.raises(RunsFailed) as failed:
        tb.run(sweep, engine="kernel", out=tmp_path)
    [message] = failed.value.failures
    assert "the guest's kernel failed: Kernel panic - not syncing: the window of panics" in message
    assert "Call Trace" in message
    [results] = failed.value.results
    assert [run.params["flows.cubic.cc"] for run in results] == ["reno"]
    assert leftovers(tmp_path) == []


def test_a_hang_ends_and_the_others_go_on(
    own_kit: Kit, tailback: Tailback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del own_kit
    file = tmp_path / "hang.toml"
    sweep = '[sweep]\n"flows.cubic.cc" = ["reno", { name = "hangs", kernel = true, module = '
    file.write_text(SCENARIO + sweep + '"own" }]\n', encoding="utf-8")
    monkeypatch.setenv("TAILBACK_STALL_S", "10")
    done = tailback("run", file, "--engine", "kernel", "--json", "--jobs", "2")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["points"]) == 1
    assert "the guest made no progress in virtual time for 10 s, at 0" in done.stderr
    assert guests(tmp_path) == []
    assert leftovers(tmp_path / "results") == []


@pytest.mark.usefixtures("kernel_kit")
def test_too_little_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILBACK_GUEST_MIB", "18")
    with pytest.raises(RunsFailed, match=r"memory.*has 18 MiB; TAILBACK_GUEST_MIB gives it more"):
        tb.run(SCENARIO, engine="kernel", out=tmp_path)
    monkeypatch.setenv("TAILBACK_GUEST_MIB", "512")
    [run] = tb.run(SCENARIO, engine="kernel", out=tmp_path)
    assert run.manifest["environment"]["guest_memory_bytes"] == 512 << 20


LONG = SCENARIO.replace('duration = "2s"', 'duration = "100000s"')


def start(tmp_path: Path, *args: str) -> subprocess.Popen[str]:
    """Start the command with long runs. Return after the guests of these runs have started."""
    file = tmp_path / "long.toml"
    file.write_text(LONG, encoding="utf-8")
    ours = subprocess.Popen(
        [*COMMAND, "run", str(file), "--engine", "kernel", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(guests(tmp_path)) == int(args[-1]))
    return ours


@contextlib.contextmanager
def ended(ours: subprocess.Popen[str]) -> Iterator[None]:
    """Check after each test that all its processes have ended."""
    try:
        yield
    finally:
        if ours.poll() is None:
            ours.kill()
        ours.communicate()


@pytest.mark.usefixtures("kernel_kit")
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(Path("/tmp").glob("tailback-*"))
    ours = start(tmp_path, "--seeds", "3", "--jobs", "2")
    with ended(ours):
        ours.send_signal(signal.SIGINT)
        shown, said = ours.communicate(timeout=20)
        assert ours.returncode == 130
        assert shown == ""
        assert said.strip() == "tailback: interrupted; the results of finished runs are kept"
    assert guests(tmp_path) == []
    assert leftovers(tmp_path / "results") == []
    assert set(Path("/tmp").glob("tailback-*")) == before
    assert not (Path.home() / ".uml").exists()


@pytest.mark.usefixtures("kernel_kit")
def test_guests_end_with_us_and_the_next_start_clears_up(tmp_path: Path) -> None:
    ours = start(tmp_path, "--seeds", "2", "--jobs", "2")
    with ended(ours):
        ours.kill()
    wait_for(lambda: not guests(tmp_path))
    out = tmp_path / "results"
    assert leftovers(out) != []
    tb.run(SCENARIO, out=out)
    assert leftovers(out) == []


@pytest.mark.usefixtures("kernel_kit")
def test_a_guest_that_is_killed_is_reported(tmp_path: Path) -> None:
    ours = start(tmp_path, "--jobs", "1")
    with ended(ours):
        # While a process executes `exec`, its command line is empty for a moment.
        [pid] = wait_for(lambda: guests(tmp_path))
        os.kill(pid, signal.SIGKILL)
        shown, said = ours.communicate(timeout=20)
        assert ours.returncode == 1, shown
        assert "the guest was ended by SIGKILL" in said
    assert guests(tmp_path) == []
    assert leftovers(tmp_path / "results") == []


# --- access of a guest to this machine ----------------------------------------------------

REACH = """\
#!/usr/bin/busybox sh
box() { /usr/bin/busybox "$@"; }
box mount -t proc proc /proc
box mount -t tmpfs none /tmp
for place in top up far; do box mkdir /tmp/$place; done
box mount -t hostfs none /tmp/top -o / && echo "top: $(box ls /tmp/top | box tr '\\n' ' ')"
for up in /.. /../.. /../../.. /../../../../../../../../..; do
    box mount -t hostfs none /tmp/up -o $up && echo "up: $(box ls /tmp/up 2>&1 | box tr '\\n' ' ')"
    box umount /tmp/up
done
box mount -t hostfs none /tmp/far -o @SECRET@ && echo "far: $(box cat /tmp/far/secret 2>&1)"
box mount -t hostfs none /tmp/far -o /../secret && echo "beside: $(box cat /tmp/far/secret 2>&1)"
box touch /mine && echo "the root is written to"
box touch /tmp/top/root/mine && echo "the guest kernel is written to"
box mount -o remount,rw / && box touch /mine && echo "the root is written to"
box touch /tmp/top/results/mine && echo "results: written"
devices=$(box awk -F: 'NR > 2 { print $1 }' /proc/net/dev)
echo "devices:" $devices
echo "tailback: done"
box poweroff -f
"""


def test_a_guest_reaches_its_own_files_only(own_kit: Kit, tmp_path: Path) -> None:
    """A guest's init process looks for files outside of the guest."""
    kit = own_kit
    before = sorted(path.name for path in kit.root.iterdir())
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "secret").write_text("seen", encoding="utf-8")
    workplace = tmp_path / "work, place"
    workplace.mkdir()
    agent = tmp_path / "agent"
    agent.write_text(REACH.replace("@SECRET@", str(secret)), encoding="utf-8")
    agent.chmod(0o755)
    lines: list[str] = []
    take = console.Console.line

    def listen(of: console.Console, text: str) -> None:
        lines.append(text)
        take(of, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console.Console, "line", listen)
        guest.run(
            kit,
            agent,
            workplace,
            job="{}",
            seed=1,
            duration_ns=1,
            cancelled=lambda: False,
            progress=lambda _: None,
            memory_mib=256,
        )
    said = "\n".join(lines)
    [top] = [line for line in lines if line.startswith("top: ")]
    assert set(top.split()[1:]) <= {"extra", "job", "results", "root", "uml"}
    # Folders above the guest's folder are visible by name but cannot be opened.
    if has_landlock():
        ups = [line for line in lines if line.startswith("up: ")]
        assert all("Permission denied" in line for line in ups), said
        assert "seen" not in said
    assert "written to" not in said
    assert "results: written" in said
    assert (workplace / "results/mine").exists()
    assert sorted(path.name for path in kit.root.iterdir()) == before
    [devices] = [line for line in lines if line.startswith("devices: ")]
    # The guest's kernel itself creates these devices. They do not allow access to this machine.
    assert set(devices.split()[1:]) <= {"lo", "dummy0", "ifb0", "ifb1"}


def test_a_cancelled_guest_is_gone(own_kit: Kit, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text(
        "#!/usr/bin/busybox sh\n"
        "while true; do echo tailback: at 0; /usr/bin/busybox sleep 1; done\n",
        encoding="utf-8",
    )
    agent.chmod(0o755)
    heard: list[float] = []
    workplace = tmp_path / "work"
    workplace.mkdir()
    with pytest.raises(Cancelled):
        guest.run(
            own_kit,
            agent,
            workplace,
            job="{}",
            seed=1,
            duration_ns=1,
            cancelled=lambda: len(heard) > 5,
            progress=heard.append,
            memory_mib=256,
        )
    assert guests(tmp_path) == []


def test_a_process_that_nobody_reaps_does_not_delay_the_end() -> None:
    first = subprocess.Popen(["sleep", "60"], process_group=0)
    second = subprocess.Popen(["sleep", "60"], process_group=first.pid)
    began = time.monotonic()
    guest._end(first)
    assert time.monotonic() - began < guest.END_S / 2
    assert first.returncode == second.wait() == -signal.SIGKILL


def test_a_console_without_end_is_no_progress(own_kit: Kit, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/usr/bin/busybox sh\nexec /usr/bin/busybox yes word\n", encoding="utf-8")
    agent.chmod(0o755)
    workplace = tmp_path / "work"
    workplace.mkdir()
    with pytest.raises(
        GuestFailed, match=r"no progress.*before the run began; its console ends"
    ) as e:
        guest.run(
            own_kit,
            agent,
            workplace,
            job="{}",
            seed=1,
            duration_ns=1,
            cancelled=lambda: False,
            progress=lambda _: None,
            memory_mib=256,
            stall_s=3,
        )
    assert str(e.value).count("    word") == console.TAIL


# --- the user's modules --------------------------------------------------------------------

STEADY = """\
title = "a fixed window"
duration = "2s"
warmup = "1s"
start_jitter = "0s"
[bottleneck]
rate = "100Mbit"
queue = { aqm = "codel" }
[path]
rtt = "20ms"
[[flows]]
cc = { name = "fixed", kernel = true, module = "own" }
"""


def test_a_congestion_control_of_the_users_runs(own_kit: Kit, tmp_path: Path) -> None:
    [run] = tb.run(STEADY, engine="kernel", out=tmp_path)
    [flow] = run.summary["flows"]
    # The window is 20 segments for each RTT. The test's tolerance allows for the transmission time
    # of the packets.
    assert flow["throughput_mbit"] == pytest.approx(20 * 1448 * 8 / 20e-3 / 1e6, rel=0.02)
    # A name that a module provides is a congestion control of the kernel even without `kernel =
    # true`.
    implied = STEADY.replace("kernel = true, ", "")
    assert tb.check(implied, engine="kernel").points[0].run_id == run.run_id
    with pytest.raises(ScenarioError, match=r"module own registers .*fixed.*, not cubic"):
        tb.check(implied.replace('"fixed"', '"cubic"'), engine="kernel")
    [manifest] = [m for m in own_kit.extras() if m["name"] == "own"]
    environment = run.manifest["environment"]
    assert environment["kit"]["extra"]["own"] == manifest["hash"]


def test_the_kernels_own_source_as_a_module_is_the_same(own_kit: Kit, tmp_path: Path) -> None:
    del own_kit
    [mine] = tb.run(
        SCENARIO, set={"bottleneck.queue.module": "mycodel"}, engine="kernel", out=tmp_path
    )
    [kits_own] = tb.run(SCENARIO, engine="kernel", out=tmp_path)
    # The module's hash changes the run id but not the result.
    assert mine.run_id != kits_own.run_id
    assert mine.manifest["engine_version"] != kits_own.manifest["engine_version"]
    same = [{k: v for k, v in r.summary.items() if k != "run_id"} for r in (mine, kits_own)]
    assert same[0] == same[1]
    assert mine.summary["queue"]["marks"] > 0


def test_versions_of_a_queue_side_by_side(own_kit: Kit, tailback: Tailback, scenario: Path) -> None:
    del own_kit
    done = tailback(
        *("compare", scenario, "--engine", "kernel", "--seeds", "3", "--json", "--no-report"),
        *("--variant", "short:bottleneck.queue.module=short"),
        *("--variant", "longer:bottleneck.queue.module=longer"),
        *("--variant", "own:bottleneck.queue.module=mycodel"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    variants = {v["name"]: v for v in json.loads(done.stdout)["variants"]}
    assert len({v["engine_version"] for v in variants.values()}) == 3


def test_another_version_is_another_run(own_kit: Kit, tmp_path: Path) -> None:
    """The queues of the two versions hold 10 and 30 packets of 1.2 ms each, and the stream keeps
    them full."""
    del own_kit
    text = SCENARIO + '[[traffic]]\nkind = "cbr"\nrate = "15Mbit"\n'
    runs = [
        tb.run(text, set={"bottleneck.queue.module": name}, engine="kernel", out=tmp_path)[0]
        for name in ("short", "longer")
    ]
    longest = [run.summary["queue"]["delay_ms"]["max"] for run in runs]
    assert longest[0] == pytest.approx(10 * 1.21, rel=0.1)
    assert longest[1] == pytest.approx(30 * 1.21, rel=0.1)
    assert runs[0].run_id != runs[1].run_id


@pytest.mark.usefixtures("own_kit")
def test_a_changed_line_of_a_module_is_found_and_none_is_not(tmp_path: Path) -> None:
    def flagged(base: str | None, other: str) -> tuple[int, set[str]]:
        module = "bottleneck.queue.module"
        found = tb.compare(
            ROOT / "examples/dualpi2.toml",
            {"a": {module: base} if base else {}, "b": {module: other}},
            seeds=8,
            engine="kernel",
            out=tmp_path,
        )
        return len(found.cells), {f"{c.name} {c.quantity}" for c, _, _ in found.flagged()}

    # A module built from the kernel's own source behaves like the built-in queue, so the results
    # are equal.
    cells, none = flagged(None, "today")
    assert cells > 10
    assert none == set()
    # The changed line stops the step from marking the only packet in L (the low-latency queue), so
    # the queue in L is longer.
    assert "dctcp rtt_ms.mean" in flagged("today", "changed")[1]
