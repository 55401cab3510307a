"""Tests the guest kernel: its sources, the inputs that it rejects, and the built guest kernel."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Archive, Tailback
from tailback.errors import InputError, TailbackError
from tailback.kernel import apt, build, config, modules, root, source, tools
from tailback.kernel import kit as kits
from tailback.kernel import own as tailbacks
from tailback.kernel.kit import Kit
from tailback.kernel.steps import Steps

# --- sources of packages ------------------------------------------------------

ONE_LINE = """\
# deb http://commented.example.org/debian trixie main
deb [arch=amd64 signed-by=/keyrings/vendor.gpg] https://vendor.example.com/debian bookworm main
deb http://security.debian.org/debian-security bookworm-security main
deb-src http://deb.debian.org/debian bookworm main
deb http://mirror.example.org/debian/ bookworm main contrib # ours
"""

DEB822 = """\
Types: deb
URIs: https://vendor.example.com/apt
Suites: nodistro
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg

Types: deb deb-src
# a comment in the middle
URIs: http://deb.debian.org/debian http://second.example.org/debian
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
Enabled: no
URIs: http://off.example.org/debian
Suites: bookworm
Components: main
"""


def test_one_line_sources_are_read() -> None:
    entries = apt.parse_list(ONE_LINE)
    assert [entry.uri for entry in entries] == [
        "https://vendor.example.com/debian",
        "http://security.debian.org/debian-security",
        "http://mirror.example.org/debian/",
    ]
    assert entries[0].signed_by == "/keyrings/vendor.gpg"
    assert entries[2].components == ("main", "contrib")
    # Neither an apt source with a vendor's key nor the security archive counts as a mirror of
    # Debian.
    assert apt.choose_mirror(entries) == "http://mirror.example.org/debian"


def test_deb822_sources_are_read() -> None:
    entries = apt.parse_deb822(DEB822)
    assert [entry.uri for entry in entries] == [
        "https://vendor.example.com/apt",
        "http://deb.debian.org/debian",
        "http://second.example.org/debian",
    ]
    assert entries[1].suites == ("bookworm", "bookworm-updates")
    # An apt source with Debian's key is preferred to a source without a key, in any order.
    assert (
        apt.choose_mirror([*apt.parse_list(ONE_LINE), *entries]) == "http://deb.debian.org/debian"
    )


def test_the_mirror_is_the_machines_own(tmp_path: Path) -> None:
    assert apt.machine_mirror(tmp_path) == apt.FALLBACK_MIRROR
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/other.list").write_text(ONE_LINE)
    assert apt.machine_mirror(tmp_path) == "http://mirror.example.org/debian"
    (tmp_path / "sources.list.d/debian.sources").write_text(
        DEB822.replace("deb.debian.org", "near.example.org")
    )
    assert apt.machine_mirror(tmp_path) == "http://near.example.org/debian"


def test_the_machines_release_is_debians_only(tmp_path: Path) -> None:
    release = tmp_path / "os-release"
    release.write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    assert apt.machine_suite(release) == "bookworm"
    release.write_text("ID=other\nVERSION_CODENAME=bookworm\n")
    assert apt.machine_suite(release) is None


def test_addresses_of_packages_are_read() -> None:
    file = "busybox-static_1%3a1.38.0-3+b1_amd64.deb"
    line = f"'http://mirror/pool/b_amd64.deb' {file} 970908 SHA256:{'ab' * 32}"
    [deb] = apt.parse_uris(["Reading package lists...", line])
    assert (deb.name, deb.version, deb.size) == ("busybox-static", "1:1.38.0-3+b1", 970908)


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")
def test_versions_compare_as_debian_does() -> None:
    assert apt.newest(["7.3.4-1~bpo13+1", "7.3.4-1", "7.3.10-1~bpo13+1"]) == "7.3.10-1~bpo13+1"


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")
def test_the_newest_source_package_is_taken() -> None:
    held = {
        "linux-source-6.12": ["6.12.9-1"],
        "linux-source-7.3": ["7.3.4-1~bpo13+1", "7.3.4-1"],
        "linux-source-7.10": [],  # a name without a package
        "linux-source-7.9-rt": ["7.9-1"],
    }
    assert source.newest_package(Archive(held)) == ("linux-source-7.3", "7.3.4-1")
    with pytest.raises(TailbackError, match=r"6\.17.*--source"):
        source.newest_package(Archive({"linux-source-6.12": ["6.12.9-1"]}))


# --- host checks ----------------------------------------------------------------


def test_what_is_missing_is_named_at_once() -> None:
    absent = tools.missing_packages(
        lambda name: None if name in ("gcc", "make") else f"/bin/{name}"
    )
    assert [name for name in absent if name != "debian-archive-keyring"] == ["gcc", "make"]
    assert tools.missing_message(["gcc", "make"]).endswith("run: sudo apt install gcc make")
    headless = tools.missing_packages(lambda name: f"/bin/{name}", has_headers=lambda: False)
    assert "libc6-dev" in headless


def test_a_program_that_is_waited_for_ends_with_us(tmp_path: Path) -> None:
    script = (
        "from tailback.kernel import process\n"
        "with process.terminable():\n"
        "    process.run(['sh', '-c', 'sleep 987 & echo $! > pid; wait'])\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ours.send_signal(signal.SIGTERM)
    ours.wait(30)
    # The dead process remains until init reaps it.
    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


# --- configuration --------------------------------------------------------------


def test_a_fragment_is_read_and_its_errors_have_a_place() -> None:
    text = '# why\nCONFIG_A=y\n# CONFIG_B is not set\n\nCONFIG_C="x y"\n'
    assert config.parse(text, "f").options == {
        "CONFIG_A": "y",
        "CONFIG_B": "n",
        "CONFIG_C": '"x y"',
    }
    with pytest.raises(InputError, match=r"mine:2: expected .* is not set.$"):
        config.parse("CONFIG_A=y\nNET_SCH_FOO=m\n", "mine")


def test_options_that_did_not_land_are_found() -> None:
    ours = config.parse(
        f"CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=n\nCONFIG_G=y\n{config.OPTIONAL_MARK}\nCONFIG_D=y\n",
        "ours",
    )
    mine = config.parse("CONFIG_A=m\nCONFIG_E=y\nCONFIG_F=n\n", "mine")
    final = config.values("CONFIG_A=m\nCONFIG_B=y\n# CONFIG_E is not set\nCONFIG_G=y\n")
    wrong = config.refused([ours, mine], final)
    # Option A was set twice, so its last value is final. The options C and F are absent, so they
    # have the value `n`. D is optional.
    assert wrong == {"ours": ["CONFIG_B=m (is y)"], "mine": ["CONFIG_E=y (is n)"]}


def test_every_queue_and_congestion_control_of_the_catalogue_is_asked_for() -> None:
    options = config.ours().options
    for name in ("RED", "CODEL", "FQ_CODEL", "PIE", "FQ_PIE", "CAKE", "DUALPI2"):
        assert options[f"CONFIG_NET_SCH_{name}"] == "m"
    for name in ("CUBIC", "DCTCP", "BBR"):
        assert options[f"CONFIG_TCP_CONG_{name}"] == "m"


def test_hz_comes_before_the_trees_own_and_after_the_title() -> None:
    lines = config.kconfig('# c\nmainmenu "Linux"\n\nsource "init/Kconfig"\n').splitlines()
    assert lines.index('mainmenu "Linux"') < lines.index("config HZ")
    assert lines.index("\tdefault 1000") < lines.index('source "init/Kconfig"')


def test_the_hash_of_a_configuration_leaves_the_compiler_out() -> None:
    one = 'CONFIG_CC_VERSION_TEXT="gcc 12"\nCONFIG_GCC_VERSION=120200\nCONFIG_NET=y\n'
    other = 'CONFIG_CC_VERSION_TEXT="gcc 14"\nCONFIG_GCC_VERSION=140200\nCONFIG_NET=y\n'
    assert config.digest(one) == config.digest(other)
    assert config.digest(one) != config.digest(one + "CONFIG_INET=y\n")


def test_the_kit_is_known_by_all_that_goes_into_it() -> None:
    ours = [config.ours()]
    mine = [*ours, config.parse("CONFIG_TUN=y\n", "mine")]
    comment = [*ours, config.parse("# why\nCONFIG_TUN=y\n", "elsewhere")]
    packages = {"iproute2": "7.3.0-1"}
    base = build.kit_hash("linux-source-7.3=1", ours, packages)
    assert base == build.kit_hash("linux-source-7.3=1", ours, dict(packages))
    assert build.kit_hash("linux-source-7.3=1", mine, packages) == build.kit_hash(
        "linux-source-7.3=1", comment, packages
    )
    others = {
        build.kit_hash("linux-source-7.3=1", mine, packages),
        build.kit_hash("linux-source-7.3=2", ours, packages),
        build.kit_hash("linux-source-7.3=1", ours, {"iproute2": "7.3.0-2"}),
        base,
    }
    assert len(others) == 4


# --- the user's trees -----------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make the files of a kernel tree that tailback checks before a build."""
    files = {
        "Makefile": "# SPDX\nVERSION = 6\nPATCHLEVEL = 18\nSUBLEVEL = 2\nEXTRAVERSION = -mine\n",
        "Kconfig": 'mainmenu "Linux"\n',
        "arch/um/Kconfig": "config HZ\n",
        "arch/arm/kernel/setup.c": "int arm;\n",
        "arch/arm/crypto/Kconfig": "# other files refer to it\n",
        "net/sched/sch_codel.c": "int codel;\n",
        "net/sched/sch_codel.o": "object",
        "include/generated/autoconf.h": "#define X\n",
        "Documentation/index.rst": "words",
        "Documentation/Kconfig": "# menu\n",
        ".config": "CONFIG_A=y\n",
        ".git/HEAD": "ref\n",
    }
    for name, text in files.items():
        path = tmp_path / "linux" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "linux"


def test_a_tree_is_taken_without_products_and_other_processors(tree: Path) -> None:
    assert list(source.tree_files(tree)) == [
        "Kconfig",
        "Makefile",
        "Documentation/Kconfig",
        "arch/arm/crypto/Kconfig",
        "arch/um/Kconfig",
        "net/sched/sch_codel.c",
    ]
    assert source.kernel_version(tree) == "6.18.2-mine"


def test_a_tree_is_known_by_its_content(tree: Path) -> None:
    before = source.tree_hash(tree)
    (tree / "net/sched/sch_codel.o").write_text("another object")
    assert source.tree_hash(tree) == before
    (tree / "net/sched/sch_codel.c").write_text("int codel2;\n")
    assert source.tree_hash(tree) != before


@pytest.mark.parametrize("ending", ["tar.gz", "tar.xz"])
def test_an_archive_gives_the_same_tree(tree: Path, tmp_path: Path, ending: str) -> None:
    if ending == "tar.xz" and not shutil.which("xz"):
        pytest.skip("needs xz")
    archive = tmp_path / f"linux.{ending}"
    names = [
        path.name for path in tree.iterdir() if path.name not in (".git", ".config", "include")
    ]
    subprocess.run(
        ["tar", "-caf", archive, "--exclude=*.o", "-C", tmp_path, *(f"linux/{n}" for n in names)],
        check=True,
    )
    steps = Steps(enabled=False)
    unpacked = source.users(archive, tmp_path / "cache", steps)
    copied = source.users(tree, tmp_path / "cache", steps)
    for one in (unpacked, copied):
        source.prepare(one, None, {}, steps)
    assert list(source.tree_files(unpacked.folder)) == list(source.tree_files(tree))
    assert source.tree_hash(unpacked.folder) == source.tree_hash(copied.folder)
    assert not (unpacked.folder / "arch/arm/kernel/setup.c").exists()


def test_a_folder_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it does not have Makefile"):
        source.users(tmp_path, tmp_path / "cache", Steps(enabled=False))


# --- modules ----------------------------------------------------------------------

CC = """\
#include <linux/module.h>
#include <net/tcp.h>

static struct tcp_congestion_ops steady __read_mostly = {
	.name		= "steady",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= tcp_reno_cong_avoid,
};

static int __init steady_register(void)
{
	return tcp_register_congestion_control(&steady);
}

static void __exit steady_unregister(void)
{
	tcp_unregister_congestion_control(&steady);
}

module_init(steady_register);
module_exit(steady_unregister);
MODULE_LICENSE("GPL");
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Make a folder with a user's congestion control, which is one C file."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "tcp_mine.c").write_text(CC)
    (folder / "helper.c").write_text("int helper;\n")
    return folder


def test_a_makefile_is_written_where_there_is_none(own: Path) -> None:
    assert modules.makefile(own) == "obj-m := tcp_mine.o\n"
    (own / "Kbuild").write_text("obj-m := tcp_mine.o\n")
    assert modules.makefile(own) is None
    (own / "Kbuild").unlink()
    (own / "tcp_mine.c").unlink()
    with pytest.raises(InputError, match=r"neither a Makefile nor a \.c file"):
        modules.makefile(own)


def test_a_module_is_named_after_its_folder_or_as_asked(own: Path) -> None:
    assert modules.spelled(str(own)) == ("own", own)
    assert modules.spelled(f"v2={own}") == ("v2", own)
    with pytest.raises(InputError, match="not a name for a module"):
        modules.spelled(f"../v2={own}")
    with pytest.raises(InputError, match="no such folder"):
        modules.spelled("v2=/nowhere")


def test_a_module_is_what_it_registers() -> None:
    assert modules.kinds("tcp_mine", [CC], [], b"").ccs == ("steady",)
    unregistered = CC.replace("tcp_register_congestion_control(&steady)", "0")
    assert modules.kinds("tcp_mine", [unregistered], [], b"").ccs == ()
    assert modules.kinds("sch_x", [], ["net-sch-codel"], b"register_qdisc").qdiscs == ("codel",)
    assert modules.kinds("sch_x", [], [], b"..register_qdisc..").qdiscs == ("x",)


# --- the built guest kernel --------------------------------------------------------------


@pytest.fixture
def borrowed(kernel_kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """Copy the built guest kernel, so that a test's additions do not change it."""
    cache = tmp_path / "borrowed"
    folder = cache / "kits/borrowed"
    folder.mkdir(parents=True)
    for name in ("linux", "root", "build", "kit.json", *kits.PROGRAMS):
        (folder / name).symlink_to(kernel_kit.path / name)
    (cache / "current").symlink_to("kits/borrowed")
    monkeypatch.setenv("TAILBACK_KIT", str(cache))
    return kits.current()


def test_a_link_to_modules_that_leads_nowhere_is_refused(borrowed: Kit) -> None:
    (borrowed.path / "modules").symlink_to("../../kernels/gone/modules")
    with pytest.raises(InputError, match=r"modules links to \.\./\.\./kernels/gone/modules, which"):
        kits.current()


def boot(kit: Kit, commands: list[str], work: Path, extra: list[Path] | None = None) -> str:
    """Return the output of a shell script that is the only program of a guest. `extra` lists
    modules to add."""
    guest_root = work / "root"
    shutil.copytree(kit.root, guest_root, symlinks=True)
    for path in extra or []:
        shutil.copy2(path, guest_root / "modules")
    script = guest_root / "script"
    lines = ["#!/usr/bin/busybox sh", "/usr/bin/busybox mount -t proc proc /proc"]
    lines += [*commands, "poweroff -f"]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    done = subprocess.run(
        [
            kit.linux,
            *("mem=256M", "rootfstype=hostfs", f"rootflags={guest_root}", "rw", f"uml_dir={work}"),
            *("time-travel=inf-cpu", "seccomp=on", "con=null", "con0=fd:0,fd:1", "quiet"),
            "init=/script",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def test_info_shows_what_is_built(tailback: Tailback, kernel_kit: Kit) -> None:
    done = tailback("kernel", "info", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert facts["kernel"] == kernel_kit.version
    assert facts["path"] == str(kernel_kit.path)
    for kind in ("codel", "fq_codel", "pie", "fq_pie", "red", "cake", "dualpi2"):
        assert facts["qdisc"][kind] == f"sch_{kind}.ko"
    assert [facts["qdisc"][kind] for kind in ("htb", "netem", "pfifo")] == [None] * 3
    assert facts["cc"]["reno"] is None
    assert facts["cc"]["dctcp"] == "tcp_dctcp.ko"
    assert facts["packages"]["iproute2"] == facts["iproute2"]
    assert "reno" in tailback("kernel", "info").stdout


def test_the_root_is_complete_and_small(kernel_kit: Kit) -> None:
    for program in root.PROGRAMS:
        assert root.missing_libraries(kernel_kit.root, program) == []
    size = sum(path.lstat().st_size for path in kernel_kit.root.rglob("*") if path.is_file())
    assert size < 40e6
    for path in kernel_kit.modules.values():
        assert modules.modinfo(path)["license"]


def test_every_module_of_the_kit_loads_and_the_clock_jumps(kernel_kit: Kit, tmp_path: Path) -> None:
    kit = kernel_kit
    order = kit.load_order(qdiscs=kit.qdiscs, ccs=kit.ccs)
    commands = [
        *(f"insmod /modules/{path.name} || echo refused {path.name}" for path in order),
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control",
        "/usr/sbin/tc qdisc add dev lo root dualpi2",
        "/usr/sbin/tc qdisc show dev lo",
        "sleep 3600",
        "cut -d. -f1 /proc/uptime",
    ]
    shown = boot(kit, commands, tmp_path)
    assert "refused" not in shown
    lines = shown.splitlines()
    [available] = [set(line.split()) for line in lines if "reno" in line.split()]
    assert available == set(kit.ccs)
    assert any(line.startswith("qdisc dualpi2") for line in lines)
    assert any(line.isdigit() and 3600 <= int(line) < 3700 for line in lines)


@pytest.mark.usefixtures("borrowed")
def test_a_module_of_the_users_is_built_and_loads(
    tailback: Tailback, own: Path, tmp_path: Path
) -> None:
    before = sorted(path.name for path in own.iterdir())
    done = tailback("kernel", "build", "--module", own, "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in own.iterdir()) == before
    extras = json.loads(done.stdout)["extra_modules"]
    [extra] = [one for one in extras if one["name"] not in tailbacks.names()]
    assert (extra["name"], extra["cc"]) == ("own", {"steady": "tcp_mine.ko"})
    chosen = kits.with_modules(["own"])
    commands = [
        "insmod /modules/tcp_mine.ko",
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control",
    ]
    shown = boot(chosen, commands, tmp_path, chosen.load_order(ccs=["steady"]))
    assert "reno steady" in shown


@pytest.mark.usefixtures("borrowed")
def test_versions_of_a_module_stand_side_by_side(tailback: Tailback, own: Path) -> None:
    assert tailback("kernel", "build", "--module", f"v={own}").returncode == 0
    first = kits.with_modules(["v"])
    (own / "tcp_mine.c").write_text(CC.replace('"steady"', '"steadier"'))
    assert tailback("kernel", "build", "--module", f"v={own}").returncode == 0
    second = kits.with_modules(["v"])
    assert ("steady" in first.ccs, "steady" in second.ccs) == (True, False)
    assert "steadier" in second.ccs
    assert first.identity != second.identity
    [old] = [extra for extra in second.extras() if not extra["current"]]
    assert kits.with_modules([Path(old["path"]).name]).identity == first.identity


def test_a_module_that_does_not_compile_shows_what_gcc_says(
    tailback: Tailback, borrowed: Kit, own: Path
) -> None:
    (own / "tcp_mine.c").write_text(CC.replace("tcp_reno_ssthresh", "no_such_ssthresh"))
    done = tailback("kernel", "build", "--module", own)
    assert done.returncode == 1
    assert "tcp_mine.c:7:" in done.stderr
    assert "no_such_ssthresh" in done.stderr
    assert "Leaving directory" not in done.stderr
    assert not (borrowed.path / "modules/own").exists()
    assert list(borrowed.path.glob("modules/.*")) == []


def test_an_option_the_kernel_does_not_have_is_named(kernel_kit: Kit, tmp_path: Path) -> None:
    env = tools.environment(kits.cache(), Steps(enabled=False))
    make = build.Make(Path(kernel_kit.manifest["source_tree"]), tmp_path, env, jobs=1)
    mine = config.parse("CONFIG_NO_SUCH_QUEUE=m\nCONFIG_TUN=y\n", "mine.config")
    with pytest.raises(InputError) as caught:
        build.configure(make, [config.ours(), mine], Steps(enabled=False), lenient=False)
    assert str(caught.value) == (
        "mine.config: the kernel's configuration rejects\n"
        "  CONFIG_NO_SUCH_QUEUE=m (this tree does not have this option, or its dependencies are "
        "off); "
        "remove these lines, or add the options that they depend on"
    )


def test_a_kit_that_was_moved_builds_no_modules(tmp_path: Path) -> None:
    """The kernel's Makefile contains the path of its build folder, to which kbuild would write."""
    for place in ("before", "now"):
        (tmp_path / place / "build").mkdir(parents=True)
    makefile = "export KBUILD_OUTPUT = {}\n"
    written = tmp_path / "now/build/Makefile"
    written.write_text(makefile.format(tmp_path / "now/build"))
    modules.check_place(tmp_path / "now")
    written.write_text(makefile.format(tmp_path / "before/build"))
    with pytest.raises(InputError, match=r"was built in .*before/build and is now in .*now/build"):
        modules.check_place(tmp_path / "now")
