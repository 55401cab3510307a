"""Tests users' programs in guests: packages, checks before the boot, and warnings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tailback.errors import InputError
from tailback.kernel import config, confine, guest, patches, process
from tailback.kernel import kit as kits
from tailback.kernel.apt import Apt, Deb
from tailback.kernel.kit import Kit
from tailback.kernel.programs import check, elf, packages, places, roots, said
from tailback.kernel.programs.check import Program
from tailback.kernel.programs.roots import Root
from tailback.kernel.source import KernelSource
from tailback.kernel.steps import Steps

QUIET = Steps(enabled=False)

# --- the kernel's patch ---------------------------------------------------------------------


def test_the_patch_is_of_user_mode_linux_only_and_has_its_licence() -> None:
    text = patches.PROGRAMS.read_text(encoding="utf-8")
    assert text.startswith("SPDX-License-Identifier: GPL-2.0\n")
    named = {line[6:] for line in text.splitlines() if line.startswith("+++ b/")}
    assert len(named) == 10
    assert all(name.startswith(("arch/um/", "arch/x86/um/")) for name in named)


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
def test_a_tree_that_the_patch_does_not_fit_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    (folder / "arch/um/kernel").mkdir(parents=True)
    (folder / "arch/um/kernel/Makefile").write_text("obj-y = time.o\n")
    tree = KernelSource(identity="tree:1", folder=folder, origin=folder)
    assert patches.apply(tree, {}, QUIET, required=False) == tree
    with pytest.raises(InputError, match="does not apply to this tree"):
        patches.apply(tree, {}, QUIET, required=True)
    assert sorted(tmp_path.iterdir()) == [folder]


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
def test_a_patched_tree_stands_beside_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = tmp_path / "own.patch"
    patch.write_text("--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-int a;\n+int b;\n")
    monkeypatch.setattr(patches, "PROGRAMS", patch)
    folder = tmp_path / "linux"
    folder.mkdir()
    (folder / "x.c").write_text("int a;\n")
    (folder / "y.c").write_text("int y;\n")
    tree = KernelSource(identity="tree:1", folder=folder, origin=folder)
    made = patches.apply(tree, {}, QUIET, required=True)
    assert (folder / "x.c").read_text() == "int a;\n"
    assert (made.folder / "x.c").read_text() == "int b;\n"
    # Unchanged files are hard links to the files of the original tree.
    assert (made.folder / "y.c").samefile(folder / "y.c")
    assert (made.patch, made.identity == tree.identity) == ({"own": patches.sha256()}, False)
    assert patches.apply(tree, {}, QUIET, required=True) == made


def test_the_configuration_has_what_programs_take_for_granted() -> None:
    options = config.ours().options
    for name in ("FILE_LOCKING", "ADVISE_SYSCALLS", "PID_NS", "UTS_NS", "INOTIFY_USER"):
        assert options[f"CONFIG_{name}"] == "y"


# --- command line and messages of the guest's kernel --------------------------------------------


def test_only_a_run_with_programs_has_words_for_them(kernel_kit: Kit) -> None:
    given = places.Places({}, (), 1_767_225_600)
    plain = guest.boot_words(kernel_kit, 64, 1, "virtual")
    words = guest.boot_words(kernel_kit, 64, 1, "virtual", given)
    assert "time-travel-start=1700000000" in plain
    # The guest's clock runs for a minute before time 0.
    start = "time-travel-start=1767225540000000000"
    expected = {start, *(guest.PROGRAM_WORDS if kernel_kit.lets_time_pass else ())}
    assert {*words} - {*plain} == expected
    # These words of the kernel's command line must follow the word that chooses the clock.
    assert words.index("time-travel=inf-cpu") < words.index(start)
    assert not any("tt-" in word for word in guest.boot_words(kernel_kit, 64, 1, "real", given))


TOOK = 'time-travel: "{}" took {} ns, spins {}, call {}, interrupts {}, counter {}'


def test_what_a_kernel_says_of_programs_becomes_warnings() -> None:
    heard = said.Said()
    assert not heard.line("reboot: Power down")
    assert heard.line(TOOK.format("quiet", 5_000_000, 300, 7, 0, 20))
    assert heard.warnings(10**9) == []
    assert heard.line('time-travel: "busy" computes without system calls')
    assert heard.line(TOOK.format("busy", 25_000_000, 12_000, 232, 2, 1_000))
    interrupted, polled, read, took = heard.warnings(10**9)
    assert interrupted.startswith('program "busy" computed for so long without a system call')
    assert "interrupted 2 times" in interrupted
    assert "12000 calls" in polled
    assert "most often epoll_wait" in polled
    assert "(rdtsc) 1000 times" in read
    assert "took 0.025 s" in took
    assert "(2.5 % of the run)" in took
    # In a run of 10 s, 0.025 s is too small a share for a warning.
    assert len(heard.warnings(10**10)) == 3
    # If the host cannot intercept readings of the counter, tailback does not know which programs
    # read it.
    assert heard.line("time-travel: the processor's counter cannot be trapped")
    assert "a program that reads it sees this machine" in heard.warnings(10**10)[0]


def test_a_hang_is_explained(kernel_kit: Kit) -> None:
    heard = said.Said(computing="miner")
    assert said.hung(heard, kernel_kit) == ': program "miner" computes without system calls'
    without = said.hung(said.Said(), kits.Kit(**{**vars(kernel_kit), "manifest": {}}))
    assert "no patch" in without


def test_a_kernel_with_another_patch_is_said(kernel_kit: Kit) -> None:
    def of(found: dict[str, str]) -> list[str]:
        manifest = {**kernel_kit.manifest, "patches": found}
        return said.of_kit(kits.Kit(**{**vars(kernel_kit), "manifest": manifest}))

    assert of({"programs": patches.sha256()}) == []
    (older,) = of({"programs": "0" * 64})
    assert older.endswith("run: tailback kernel build")
    assert "without tailback's patch" in of({})[0]


# --- walls ------------------------------------------------------------------------------------


def test_programs_need_every_wall_or_trust(
    kernel_kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {"net": "Operation not permitted"}
    monkeypatch.setitem(confine._found, kernel_kit.launcher, confine.Walls(missing))
    with pytest.raises(InputError, match=r"a network namespace \(Oper.*--trust-programs"):
        confine.check_programs(kernel_kit)
    monkeypatch.setenv(confine.TRUST, "1")
    confine.check_programs(kernel_kit)


def test_the_launcher_says_which_walls_there_are(kernel_kit: Kit) -> None:
    assert confine.walls(kernel_kit).missing.keys() <= confine.WALLS.keys()
    assert "seccomp" not in confine.walls(kernel_kit).missing


# --- executable files ---------------------------------------------------------------------------

SOURCES = {
    "wheel.c": "int turn(void) { return 0; }\n",
    "main.c": "int turn(void); int main(void) { return turn(); }\n",
    "alone.c": "int main(void) { return 0; }\n",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a static program, and a program that needs its own library."""
    folder = tmp_path_factory.mktemp("built")
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    for words in (
        ("-static", "alone.c", "-o", "alone"),
        ("-shared", "-fPIC", "-Wl,-soname,libwheel.so.3", "wheel.c", "-o", "libwheel.so.3"),
        ("main.c", "libwheel.so.3", "-o", "linked"),
        ("main.c", "libwheel.so.3", "-Wl,-rpath,$ORIGIN/lib", "-o", "beside"),
    ):
        subprocess.run(["gcc", "-O0", *words], cwd=folder, check=True)
    arm = bytearray((folder / "alone").read_bytes())
    arm[18] = 183
    (folder / "arm").write_bytes(arm)
    (folder / "arm").chmod(0o755)
    return folder


def test_an_executable_says_what_it_is_linked_to(built: Path) -> None:
    alone, linked = elf.read(built / "alone"), elf.read(built / "beside")
    assert alone is not None
    assert linked is not None
    assert (alone.runs_here, alone.interpreter, alone.needed) == (True, "", ())
    assert linked.interpreter == "/lib64/ld-linux-x86-64.so.2"
    assert linked.needed == ("libwheel.so.3", "libc.so.6")
    assert linked.paths == ("$ORIGIN/lib",)
    assert elf.read(built / "main.c") is None


@pytest.mark.parametrize("length", [5, 20, 63, 80, 900])
def test_half_an_executable_is_no_executable(built: Path, tmp_path: Path, length: int) -> None:
    half = tmp_path / "half"
    half.write_bytes((built / "linked").read_bytes()[:length])
    with pytest.raises(elf.Damaged):
        elf.read(half)


def test_packages_of_libraries_follow_a_rule() -> None:
    archive = {"libfoo2t64", "libev4", "libfoo-1.0-3", "nodejs", "libprotobuf32t64"}
    assert packages.of_library("libfoo.so.2", archive) == "libfoo2t64"
    assert packages.of_library("libev.so.4", archive) == "libev4"
    assert packages.of_library("libprotobuf.so.32", archive) == "libprotobuf32t64"
    assert packages.of_library("libfoo-1.0.so.3", archive) == "libfoo-1.0-3"
    assert packages.of_library("libssl.so.3", ()) == "libssl3t64"
    assert packages.of_library("libnone.so.9", archive) is None
    assert packages.of_program("node", archive) == "nodejs"


# --- errors before a boot -------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Make a root with a shell, libc and its loader, and a program outside of the usual folders."""
    top = tmp_path / "root"
    for name in ("bin", "lib64", "lib/x86_64-linux-gnu", "lib/jvm/bin"):
        (top / "usr" / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (top / name).symlink_to(f"usr/{name}")
    (top / "usr/bin/busybox").write_bytes(b"#!/bin/sh\n")
    (top / "usr/bin/sh").symlink_to("/usr/bin/busybox")
    for name in ("lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/libc.so.6"):
        shutil.copy("/" + name, (top / "usr" / name))
    (top / "usr/lib/jvm/bin/java").write_bytes(b"#!/bin/sh\n")
    for path in (top / "usr/bin/busybox", top / "usr/lib/jvm/bin/java"):
        path.chmod(0o755)
    return Root(top, {"libc6": "2.43-7"}, "ab" * 32)


ARCHIVE = frozenset({"libwheel3", "python3-minimal", "curl"})


def wrong(root: Root, *runs: str, files: Sequence[Path] = (), **env: str) -> list[str]:
    """Return the reported errors of a program."""
    sides = {str(number): [run] for number, run in enumerate(runs)}
    program = Program("p", sides, files=tuple(files), env=env, path="programs[0]")
    found = check.problems(program, root, lambda: ARCHIVE)
    for path, _ in found:
        assert re.fullmatch(r"programs\[0\]\.(files\[\d\]|\d\.run)", path)
    return [text for _, text in found]


def test_what_runs_is_not_complained_of(root: Root, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "bin")
    (tmp_path / "bin/lib").mkdir()
    (tmp_path / "bin/libwheel.so.3").rename(tmp_path / "bin/lib/libwheel.so.3")
    files = [tmp_path / "bin"]
    assert wrong(root, "alone", "beside", "/files/bin/alone", "bin/alone", files=files) == []
    assert wrong(root, "linked", files=files, LD_LIBRARY_PATH="/files/bin/lib") == []
    assert wrong(root, "sh", "/bin/sh") == []


def test_everything_wrong_is_said_at_once(root: Root, built: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/python3\n")
    text = tmp_path / "text"
    text.write_text("hello\n")
    for path in (script, text):
        path.chmod(0o755)
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    files = [built / "linked", built / "arm", script, text, tmp_path / "plain", tmp_path / "scrip"]
    said_ = wrong(root, "linked", "arm", "script", "text", "plain", "curl", "java", files=files)
    assert said_ == [
        said_[0],
        f'{built}/linked needs libwheel.so.3, which is in Debian\'s package libwheel3: add packages = ["libwheel3"]',  # noqa: E501
        f"{built}/arm is for 64-bit ARM; guests are x86-64",
        f"{script} is a script for /usr/bin/python3, which is in Debian's package python3-minimal: "
        'add packages = ["python3-minimal"]',
        f"{text} is neither a program (ELF) nor a script with #! in its first line",
        f"{tmp_path}/plain is not executable; run: chmod +x {tmp_path}/plain",
        '"curl" is neither in files nor in packages; Debian\'s package curl may have it: add '
        'packages = ["curl"]',
        '"java" is at /usr/lib/jvm/bin/java: packages are unpacked, not installed, so no link '
        "leads to it",
    ]
    assert 'did you mean "script"?' in said_[0]


def test_a_link_of_a_package_does_not_lead_to_this_machine(root: Root) -> None:
    (root.path / "usr/bin/mine").symlink_to("/etc/passwd")
    (root.path / "usr/bin/round").symlink_to("round")
    for name in ("mine", "round"):
        [text] = wrong(root, name)
        assert text.startswith(f'"{name}" is neither in files nor in packages')


# --- places ---------------------------------------------------------------------------------------


def test_places_are_links_that_the_guest_is_told_of(root: Root, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "one").touch()
    programs = [
        Program("a", {"sender": ["x"]}, packages=("curl", "bash"), files=(tmp_path / "one",)),
        Program("b", {"sender": ["y"]}, packages=("curl", "bash"), files=(tmp_path / "bin",)),
    ]
    given = places.Places.of(programs, {"curl bash": root}, 100)
    workplace = tmp_path / "work"
    (workplace / "job").mkdir(parents=True)
    given.make(workplace)
    assert json.loads(given.mapping()) == {
        "roots": {"curl bash": "/programs/root0"},
        "files": {
            str(tmp_path / "bin"): "/programs/folder0",
            str(tmp_path / "one"): "/programs/files/0",
        },
    }
    assert (workplace / "job/places").read_text() == "files\nroot0\nfolder0\n"
    assert (workplace / "programs/root0").resolve() == root.path
    # The check of a guest's files accepts links that tailback made.
    guest._check_written(workplace)
    many = tuple(tmp_path / str(n) for n in range(confine.MOST_PLACES))
    for path in many:
        path.mkdir()
    with pytest.raises(InputError, match="16 folders and package roots; these have 17"):
        places.Places.of([Program("a", {}, files=many)], {"": root}, 100)


# --- package roots -----------------------------------------------------------------------------


class Shelf(Apt):
    """An archive of packages for the tests. It counts the queries."""

    def __init__(self, debs: dict[str, Path]) -> None:
        self.debs = debs
        self.asked = 0

    def update(self, steps: Steps) -> None:
        del steps

    def names(self, prefix: str) -> list[str]:
        return [name for name in self.debs if name.startswith(prefix)]

    def closure(self, packages: Sequence[str]) -> list[str]:
        self.asked += 1
        if lost := [name for name in packages if name not in self.debs]:
            raise process.CommandFailed("", [f"E: Unable to locate package {one}" for one in lost])
        return [f"{name}=1" for name in self.debs]

    def locate(self, packages: Sequence[str]) -> list[Deb]:
        names = [one.partition("=")[0] for one in packages]
        return [Deb(n, "1", f"{n}_1_all.deb", 1, f"{len(n):064x}") for n in names]

    def fetch(self, debs: Sequence[Deb], steps: Steps) -> list[Path]:
        del steps
        return [self.debs[deb.name] for deb in debs]


def package(folder: Path, name: str, files: dict[str, str]) -> Path:
    """Build a Debian package with these files."""
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
        (folder / name / path).chmod(0o4755)
    (folder / name / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
    (folder / name / "DEBIAN/control").write_text(control)
    command = ["dpkg-deb", "--build", "--root-owner-group", name, f"{name}_1_all.deb"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / f"{name}_1_all.deb"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Make an archive with the base packages and two programs. Use an empty cache."""
    certificate = "usr/share/ca-certificates/mozilla/"
    debs = {
        "busybox-static": {"usr/bin/busybox": "#!/bin/sh\necho bin/sh\necho usr/sbin/arp\n"},
        "ca-certificates": {certificate + "b.crt": "B\n", certificate + "a.crt": "A"},
        "adduser": {"usr/sbin/adduser": "no\n"},
        "hello": {"bin/hello": "x\n", "etc/hello.conf": "y\n", "usr/share/doc/hello/x": "z\n"},
    }
    made = Shelf({name: package(tmp_path, name, files) for name, files in debs.items()})
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "cache"))
    monkeypatch.setattr(roots, "BASE", ("busybox-static", "ca-certificates"))
    monkeypatch.setattr(roots, "_archive", lambda: made)
    return made


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg")
def test_a_root_is_unpacked_once_and_whole(shelf: Shelf) -> None:
    root = roots.get(["hello"], QUIET)
    top = root.path
    assert root.packages == {"busybox-static": "1", "ca-certificates": "1", "hello": "1"}
    # All files are installed below /usr, except the files in /etc. Set-uid bits and documentation
    # are removed.
    assert (top / "usr/bin/hello").stat().st_mode & 0o7777 == 0o755
    assert (top / "etc/hello.conf").read_text() == "y\n"
    assert not (top / "usr/share/doc").exists()
    assert os.readlink(top / "usr/bin/sh") == "/usr/bin/busybox"
    assert (top / "usr/sbin/arp").is_symlink()
    assert (top / roots.BUNDLE).read_text() == "A\nB\n"
    # Files that are needed only for installation are left out, unless a program lists their
    # package.
    assert not (top / "usr/sbin/adduser").exists()
    assert (roots.get(["adduser"], QUIET).path / "usr/sbin/adduser").exists()
    # A second request neither queries the archive nor adds files to the cache.
    shelf.debs.clear()
    assert roots.get(["hello"], QUIET) == root
    assert shelf.asked == 2
    assert len(list(kits.cache().glob("roots/*/root.json"))) == 2
    roots.verify(root)
    (top / "usr/bin/hello").write_text("changed\n")
    with pytest.raises(InputError, match=r"root/usr/bin/hello differs.*remove "):
        roots.verify(root)


class Mixed(Apt):
    """An archive of two suites whose newest packages are not compatible. If `sound` names a suite,
    packages of this suite alone can be installed."""

    def __init__(self, folder: Path, sound: str | None) -> None:
        super().__init__(folder, ("stable", "unstable"), downloads=folder)
        self.sound = sound

    def _apt(self, program: str, *args: str, **_: object) -> list[str]:
        assert program == "apt-get"
        if self.sound is not None and args[args.index("install") - 2 :][:2] == ("-t", self.sound):
            return ["'http://x/a_1%3a2_amd64.deb' a_1%3a2_amd64.deb 10 SHA256:0"]
        raise process.CommandFailed("", [" a : Depends: b (= 1) but 2 is to be installed", HELD])


HELD = "E: Unable to correct problems, you have held broken packages."


def test_packages_of_one_suite_if_the_newest_do_not_fit(tmp_path: Path) -> None:
    for suite in ("stable", "unstable"):
        assert Mixed(tmp_path, suite).closure(["a"]) == ["a=1:2"]
    with pytest.raises(process.CommandFailed) as caught:
        Mixed(tmp_path, None).closure(["a"])
    message = roots._refusal(caught.value, Mixed(tmp_path, None))
    assert message.splitlines() == [
        "a : Depends: b (= 1) but 2 is to be installed",
        HELD.removeprefix("E: "),
    ]


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg")
def test_what_fails_leaves_no_root(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_root: Path) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(roots, "_certificates", fail)
        with pytest.raises(OSError, match="no space"):
            roots.get(["hello"], QUIET)
    assert list(kits.cache().glob("roots/*/root*")) == []
    assert (roots.get(["hello"], QUIET).path / "usr/bin/hello").exists()
    assert shelf.asked == 1
    # After `forget`, the archive is queried again.
    roots.forget()
    roots.get(["hello"], QUIET)
    assert shelf.asked == 2


@pytest.mark.usefixtures("shelf")
def test_packages_that_debian_has_not_are_named_together() -> None:
    with pytest.raises(InputError) as caught:
        roots.get(["helo", "nothing"], QUIET)
    first, second = str(caught.value).splitlines()
    assert first.endswith('did you mean "hello"?')
    assert '"helo"' in first
    assert "nothing" in second
    with pytest.raises(InputError, match="expected the name of a Debian package"):
        roots.get(["../hello"], QUIET)
