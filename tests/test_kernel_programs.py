"""Tests programs in a guest: their environment, their start and end, and their stored files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import contents
from tailback.errors import ScenarioWarning, TailbackError
from tailback.kernel.kit import Kit

BASE = """
duration = "3s"
[bottleneck]
rate = "10Mbit"
both_directions = true
delay = "10ms"
[record]
packets = true
"""

PAIR = """
[[programs]]
name = "files"
dscp = 10
hosts = ["alpha", "beta"]
files = ["./tools", "./notes.txt"]
env = { GREETING = "hello {receiver6}" }
date = "2026-12-01"
sender.run = ["sh", "-c", "nc -l -p 5000 < /files/notes.txt & nc -l -p 5001 < notes.txt; wait"]
sender.ready = "tcp:5001"
receiver.run = ["look", "{sender}", "{duration}"]
[[programs]]
name = "second"
start = "500ms"
expect = 3
count = 2
receiver = { run = ["sh", "-c", "ping -c 2 {files.sender6} && exit 3"] }
[[programs]]
name = "asked"
stop = "1s"
sender = { run = ["sh", "-c", "trap 'echo asked > /out/said; exit 0' TERM; sleep 9 & wait"] }
receiver = { run = ["sh", "-c", "trap '' TERM; sleep 9 & wait; sleep 9"] }
"""

LOOK = """#!/bin/sh
set -e
echo "$GREETING $2 $(hostname) $(date +%F)"
grep -c sender /etc/hosts
nc "$1" 5000
nc alpha 5001 > /out/copy
ls / /files /work
echo $$ $(ls -d /proc/[0-9]* | wc -l)
grep -E 'CapEff|NoNewPrivs' /proc/self/status
if echo x > /files/notes.txt; then echo written; fi 2> /dev/null
if echo x > /proc/sys/kernel/printk; then echo set; fi 2> /dev/null
echo to stderr >&2
sleep 100 &
"""


COUNTER = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

/* The counter, the clock, the counter by its other instruction, and what that says besides. */
static void look(void)
{
    struct timespec clock;
    unsigned int processor = 9;
    unsigned long long first = __rdtsc(), last;

    clock_gettime(CLOCK_MONOTONIC, &clock);
    last = __rdtscp(&processor);
    printf("%llu ", first);
    printf("%llu ", clock.tv_sec * 1000000000ull + clock.tv_nsec);
    printf("%llu %u\\n", last, processor);
    fflush(stdout);
}

int main(void)
{
    static const struct timespec second = { 1, 0 };
    /* rdtsc; ret: in the last bytes before a page that is not there. */
    unsigned char *pages = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *code = memcpy(pages + 4096 - 3, "\\x0f\\x31\\xc3", 3);

    munmap(pages + 4096, 4096);
    look();
    nanosleep(&second, NULL);
    look();
    for (int i = 0; i < 2000; i++)
        ((void (*)(void))code)();
    look();
    __asm__ volatile("hlt");
}
"""


@pytest.fixture(autouse=True)
def programs_kit(kernel_kit: Kit) -> None:
    if kernel_kit.manifest.get("lacks", True):
        pytest.skip("the guest kernel cannot run programs")


def beside(folder: Path, text: str = BASE + PAIR) -> Path:
    """Write a scenario and its files. Return the scenario's path."""
    (folder / "tools").mkdir(parents=True)
    (folder / "tools/look").write_text(LOOK)
    (folder / "tools/look").chmod(0o755)
    (folder / "notes.txt").write_text("a note\n")
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


def run(path: Path, out: Path) -> tuple[dict[str, dict[str, Any]], tailback.Run]:
    [one] = tailback.run(path, engine="kernel", out=out)
    return {program["name"]: program for program in one.summary["programs"]}, one


def test_what_programs_find_and_leave(tmp_path: Path) -> None:
    programs, one = run(beside(tmp_path / "here"), tmp_path / "out")
    left = one.path / "programs"
    said = (left / "files/receiver/stdout.txt").read_text().splitlines()
    assert said[0] == "hello fd00:4::1 3 beta 2026-12-01"
    # The hosts file contains the guest's own name and the names of every entry, for both address
    # families.
    assert said[1] == str(2 + 2 * 4)
    assert said[2] == "a note"
    assert (left / "files/receiver/out/copy").read_text() == "a note\n"
    root = said[4 : said.index("")]
    assert root == sorted(
        [
            "bin",
            "dev",
            "etc",
            "files",
            "lib",
            "lib64",
            "out",
            "proc",
            "root",
            "run",
            "sbin",
            "sys",
            "tmp",
            "usr",
            "var",
            "work",
        ]
    )
    listed = [line for line in said if line in ("tools", "notes.txt")]
    assert listed == ["notes.txt", "tools"] * 2
    # Five processes are running, and the shell is process 2. Three of the other processes are the
    # commands that count the processes.
    number, processes = map(int, said[-3].split())
    assert (number, processes) == (2, 5)
    assert said[-2:] == ["CapEff:\t00000000000425fb", "NoNewPrivs:\t1"]
    assert (left / "files/receiver/stderr.txt").read_text().endswith("to stderr\n")

    assert programs["files"]["status"] == {"sender": 0, "receiver": 0}
    for name in ("second/1", "second/2"):
        assert programs[name]["status"] == {"sender": None, "receiver": 3}
        text = (left / name / "receiver/stdout.txt").read_text()
        times = [float(ms) for ms in re.findall(r"time=([\d.]+)", text)]
        # The link has a delay of 10 ms in each direction, and `path.rtt` adds 20 ms to the round
        # trip.
        assert times == pytest.approx([40, 40], abs=1), text
    # One program exits after SIGTERM. The other program ignores SIGTERM and is killed.
    asked = programs["asked"]
    assert asked["status"] == {"sender": 0, "receiver": 137}
    assert asked["exit_s"]["sender"] == pytest.approx(1.0, abs=0.05)
    assert asked["exit_s"]["receiver"] == pytest.approx(2.0, abs=0.05)
    assert (left / "asked/sender/out/said").read_text() == "asked\n"

    packets = (one.path / "packets.pcapng").read_bytes()
    assert packets.count(b"\x08\x00\x45\x28") > 20, "IPv4 with its codepoint"
    assert packets.count(b"\x86\xdd\x60") >= 2 * 2 * 2 * 2, "IPv6 without one"


def test_a_seed_is_a_run_to_the_byte_wherever_its_files_are(tmp_path: Path) -> None:
    for place in ("here", "there"):
        run(beside(tmp_path / place), tmp_path / f"out-{place}")
    here, there = (contents(tmp_path / f"out-{place}") for place in ("here", "there"))
    assert len(here) > 15
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def failure(tmp_path: Path, programs: str) -> str:
    """Return the error of a failing run. Check that the run stores nothing."""
    path = beside(tmp_path / "here", BASE + programs)
    with pytest.raises(TailbackError) as failed:
        tailback.run(path, engine="kernel", out=tmp_path / "out")
    assert list((tmp_path / "out/runs").glob("[!.]*")) == []
    return str(failed.value)


def test_a_status_that_is_not_expected_fails_the_run(tmp_path: Path) -> None:
    said = failure(
        tmp_path,
        """
[[programs]]
name = "bad"
start = "1s"
receiver = { run = ["sh", "-c", "echo the reason >&2; kill -9 $$"] }
""",
    )
    sentence = r"program bad \(receiver\): .*: ended with status 137 at 1\.0\d\d s, expected 0; "
    assert re.search(sentence + r"stderr:\nthe reason", said), said


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("sleep 100", "is not ready after 10 s: nothing listens at TCP port 80; it said nothing"),
        ("echo no port; exit 0", "ended with status 0 before it was ready; stdout:\nno port"),
    ],
)
def test_a_server_that_is_not_ready_fails_the_run(
    tmp_path: Path, server: str, expected: str
) -> None:
    entry = f'[[programs]]\nsender = {{ run = ["sh", "-c", "{server}"], ready = "tcp:80" }}\n'
    assert expected in failure(tmp_path, entry)


def test_what_is_too_long_is_cut_with_a_warning(tmp_path: Path) -> None:
    path = beside(
        tmp_path / "here",
        BASE
        + """
[[programs]]
name = "long"
sender.run = ["sh", "-c", "yes | head -c 3000000; head -c 70000000 /dev/zero > $OUT/a; :> $OUT/b"]
""",
    )
    with pytest.warns(ScenarioWarning) as warned:
        _, one = run(path, tmp_path / "out")
    said = "\n".join(str(warning.message) for warning in warned)
    assert "program long (sender): stdout.txt has only the first MiB" in said
    assert "program long (sender): its output folder is incomplete: at most 64 MiB" in said
    left = one.path / "programs/long/sender"
    assert (left / "stdout.txt").stat().st_size == 1 << 20
    assert [path.name for path in (left / "out").iterdir()] == ["b"]


def test_programs_end_while_flows_go_on(tmp_path: Path) -> None:
    late = "trap 'sleep 0.5; echo late > /out/said; exit 0' TERM; sleep 9 & wait"
    path = tmp_path / "scenario.toml"
    path.write_text(
        f'{BASE}[[flows]]\ncc = "cubic"\n[[programs]]\nname = "late"\n'
        f'receiver = {{ run = ["sh", "-c", "{late}"] }}\n'
    )
    # During the pause, data arrives that the receiver does not read yet. Virtual time would stop if
    # this data kept waking the agent.
    _, one = run(path, tmp_path / "out")
    assert (one.path / "programs/late/receiver/out/said").read_text() == "late\n"


def test_the_processors_counter_is_the_clock(kernel_kit: Kit, tmp_path: Path) -> None:
    if not kernel_kit.lets_time_pass:
        pytest.skip("the guest kernel has no patch for programs")
    (tmp_path / "counter.c").write_text(COUNTER)
    words = ("gcc", "-O1", "-static", "counter.c", "-o", "counter")
    subprocess.run(words, cwd=tmp_path, check=True)
    path = tmp_path / "scenario.toml"
    # The program's last instruction, `hlt`, is privileged, so the program ends with status 128 +
    # SIGSEGV.
    path.write_text(
        f'{BASE}[[programs]]\nname = "counter"\nfiles = ["counter"]\nexpect = 139\n'
        'sender.run = ["counter"]\n'
    )
    read = r'"counter" read the processor.s counter \(rdtsc\) 2\d{3} times'
    with pytest.warns(ScenarioWarning, match=read):
        _, one = run(path, tmp_path / "out")
    with pytest.warns(ScenarioWarning, match=read):
        run(path, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "out")
    text = (one.path / "programs/counter/sender/stdout.txt").read_text()
    looks = [[int(word) for word in line.split()] for line in text.splitlines()]
    assert len(looks) == 3
    for first, clock, last, processor in looks:
        # The uptime exceeds a minute. Each of the three readings of the clock takes up to 256 ns.
        assert 60e9 < first / 4 < clock < last / 4 < first / 4 + 3 * 256
        assert processor == 0
    assert looks[1][0] - looks[0][0] == pytest.approx(4e9, rel=1e-3)
    assert looks[2][0] - looks[1][0] == pytest.approx(4 * 2000 * 256, rel=0.02)


def test_openssl_takes_no_random_numbers_of_the_processor(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(
        f'{BASE}[[programs]]\nname = "told"\npackages = ["openssl"]\n'
        'sender.run = ["openssl", "info", "-cpusettings"]\n'
    )
    _, one = run(path, tmp_path / "out")
    said = (one.path / "programs/told/sender/stdout.txt").read_text()
    words = re.match(r"OPENSSL_ia32cap=0x([0-9a-f]+):0x([0-9a-f]+)", said)
    assert words is not None, said
    # The first word is CPUID leaf 1, which shows RDRAND in ECX (the upper half). The second word is
    # leaf 7, which shows RDSEED. The guest must offer neither RDRAND nor RDSEED.
    assert (int(words[1], 16) >> 62 & 1, int(words[2], 16) >> 18 & 1) == (0, 0)
    assert int(words[1], 16) >> 26 & 1, "SSE2 stays"
