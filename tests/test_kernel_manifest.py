"""Tests the manifest of a guest kernel, and the check that the guest kernel is unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import Tailback
from tailback.errors import InputError
from tailback.kernel import confine, contents
from tailback.kernel import kit as kits
from tailback.kernel.kit import Kit
from tailback.running.engines.kernel import Kernel


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """Make a guest kernel of empty files with two user modules."""
    folder = tmp_path / "cache/kits/0123"
    (folder / "root/modules").mkdir(parents=True)
    (folder / "linux").touch()
    for name in ("sch_codel", "sch_fq_pie", "sch_pie", "tcp_cubic"):
        (folder / f"root/modules/{name}.ko").write_text(name)
    for name in kits.PROGRAMS:
        (folder / name).write_text(name)
    manifest = {
        "format": kits.FORMAT,
        "hash": "",
        "recipe": "ab" * 32,
        "files": contents.of(folder, kits.OF_KIT),
        "programs": {
            name: {
                "source": kits.source_hash(texts),
                "sha256": hashlib.sha256(name.encode()).hexdigest(),
            }
            for name, texts in kits.PROGRAMS.items()
        },
        "kernel": "7.3.4",
        "package": {"name": "linux-source-7.3", "version": "7.3.4-1"},
        "source": "linux-source-7.3=7.3.4-1",
        "source_tree": "/nowhere",
        "config_hash": "cd" * 32,
        "compiler": "gcc 12.2.0",
        "iproute2": "7.3.0-1",
        "packages": {"iproute2": "7.3.0-1"},
        "qdisc": {"codel": "sch_codel.ko", "fq_pie": "sch_fq_pie.ko", "htb": None},
        "cc": {"cubic": "tcp_cubic.ko", "reno": None},
        "modules": {
            name: {
                "file": f"{name}.ko",
                "sha256": hashlib.sha256(name.encode()).hexdigest(),
                "depends": depends,
            }
            for name, depends in {
                "sch_codel": [],
                "sch_fq_pie": ["sch_pie"],
                "sch_pie": [],
                "tcp_cubic": [],
            }.items()
        },
    }
    manifest["hash"] = kits.content_hash(manifest)
    (folder / "kit.json").write_text(json.dumps(manifest))
    for name in ("a", "b"):
        shelf = folder / f"modules/{name}-0000"
        shelf.mkdir(parents=True)
        (shelf / "sch_mine.ko").write_text(name)
        sha256 = hashlib.sha256(name.encode()).hexdigest()
        brought = {
            "name": name,
            "hash": name * 64,
            "from": f"/nowhere/{name}",
            "qdisc": {"codel": "sch_mine.ko"},
            "cc": {},
            "modules": {"sch_mine": {"file": "sch_mine.ko", "sha256": sha256, "depends": []}},
        }
        (shelf / "module.json").write_text(json.dumps(brought))
        (folder / "modules" / name).symlink_to(shelf.name)
    (tmp_path / "cache/current").symlink_to("kits/0123")
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "cache"))
    return kits.current()


def test_modules_are_loaded_after_those_they_need(made_up: Kit) -> None:
    order = made_up.load_order(qdiscs=["fq_pie", "htb", "codel"], ccs=["reno", "cubic"])
    assert [path.name for path in order] == [
        "sch_pie.ko",
        "sch_fq_pie.ko",
        "sch_codel.ko",
        "tcp_cubic.ko",
    ]
    with pytest.raises(InputError, match=r'qdisc "codle" does not exist.*did you mean "codel"'):
        made_up.load_order(qdiscs=["codle"])


def test_a_module_stands_in_for_the_kits_own(made_up: Kit) -> None:
    chosen = made_up.with_modules(["a"])
    [path] = chosen.load_order(qdiscs=["codel"])
    assert path == made_up.path / "modules/a-0000/sch_mine.ko"
    assert len({made_up.identity, chosen.identity, made_up.with_modules(["b"]).identity}) == 3
    assert made_up.with_modules(["a-0000"]).identity == chosen.identity
    with pytest.raises(InputError, match="modules a and b both bring codel"):
        made_up.with_modules(["a", "b"])
    with pytest.raises(InputError, match=r"expected one of a, b.*kernel build --module c=DIR"):
        made_up.with_modules(["c"])


def test_a_kit_that_is_half_built_is_none(made_up: Kit) -> None:
    (made_up.path / "kit.json").rename(made_up.path / "kit.json.part")
    with pytest.raises(InputError, match="not built; run: tailback kernel build"):
        kits.current()


def test_info_names_the_command_where_nothing_is_built(
    tailback: Tailback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_KIT", str(tmp_path / "empty"))
    for args in (["kernel", "info"], ["kernel", "info", "--json"]):
        done = tailback(*args)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "error: the guest kernel is not built\n  run: tailback kernel build\n"


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"!")


@pytest.mark.parametrize(
    ("what", "name", "said"),
    [
        ("change", "linux", "linux differs"),
        ("change", "root/modules/sch_codel.ko", "root/modules/sch_codel.ko differs"),
        ("swap", "root/modules/sch_codel.ko", "root/modules/sch_codel.ko differs"),
        ("remove", "root/modules/sch_pie.ko", "root/modules/sch_pie.ko is missing"),
        ("add", "root/modules/sch_new.ko", "root/modules/sch_new.ko does not belong there"),
        ("link", "root/modules/sch_pie.ko", "root/modules/sch_pie.ko differs"),
        ("change", "launch", "launch differs"),
        ("remove", "launch", "launch is missing"),
        ("change", "libguest.so", "libguest.so differs"),
    ],
)
def test_a_kit_that_is_not_what_was_built_is_refused(
    made_up: Kit, tailback: Tailback, scenario: Path, what: str, name: str, said: str
) -> None:
    path = made_up.path / name
    if what == "change":
        change(path)
    elif what == "swap":
        # Replace the module with another valid module of the same guest kernel.
        shutil.copy2(made_up.path / "root/modules/sch_pie.ko", path)
    elif what == "add":
        path.write_text("new")
    else:
        path.unlink()
    if what == "link":
        path.symlink_to("sch_codel.ko")
    message = (
        f"the guest kernel in {made_up.path} has changed since it was built: {said}; "
        "run: tailback kernel build"
    )
    with pytest.raises(InputError) as refused:
        made_up.verify()
    assert str(refused.value) == message
    if name == "linux":
        done = tailback("run", scenario, "--engine", "kernel")
        printed = f"error: {message}\n".replace("; run", "\n  run")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", printed)


def test_a_manifest_that_was_changed_with_its_files_is_refused(made_up: Kit) -> None:
    change(made_up.path / "linux")
    manifest = json.loads((made_up.path / "kit.json").read_text())
    manifest["files"] = contents.of(made_up.path, kits.OF_KIT)
    (made_up.path / "kit.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"has changed since it was built: kit\.json differs"):
        kits.current()
    # If the manifest's hash is updated too, the guest kernel is valid, but has another identity.
    manifest["hash"] = kits.content_hash(manifest)
    (made_up.path / "kit.json").write_text(json.dumps(manifest))
    assert kits.current().identity != made_up.identity


def test_a_module_that_is_not_what_was_built_is_refused(made_up: Kit) -> None:
    made_up.verify(["a-0000", "b-0000"])
    change(made_up.path / "modules/a-0000/sch_mine.ko")
    made_up.verify(["b-0000"])
    with pytest.raises(InputError) as refused:
        made_up.verify(["a-0000"])
    assert str(refused.value) == (
        f"module a in {made_up.path}/modules/a-0000 has changed since it was built: sch_mine.ko "
        f"differs; "
        "run: tailback kernel build --module a=/nowhere/a"
    )


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    old = path.stat().st_mtime_ns - 10**10
    os.utime(path, ns=(old, old))
    first = contents.sha256(path)
    path.write_text("two")
    # Restore the modification time. The file's size is also unchanged.
    os.utime(path, ns=(old, old))
    assert contents.sha256(path) == hashlib.sha256(b"two").hexdigest() != first
    assert contents.sha256(tmp_path / "none") == ""
    assert contents.sha256(Path("/dev/zero")) == ""


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("kernel", 7, "kernel: expected the version of a kernel"),
        ("kernel", "7\x1b[31m", "kernel: expected the version of a kernel"),
        ("files", {"../x": "/"}, "files, a key: expected a path inside the guest kernel"),
        ("files", {"x": "sha"}, "files.x: expected a hash, a link or a folder"),
        ("qdisc", {"codel": "../../x.ko"}, "qdisc.codel: expected the name of a .ko file"),
        ("modules", {"m": {"file": "m.ko", "sha256": 1}}, "modules.m.depends: missing"),
        ("hash", "ab", "hash: expected 64 hexadecimal digits"),
        ("programs", [], "programs: expected a table"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(
    made_up: Kit, key: str, value: object, said: str
) -> None:
    path = made_up.path / "kit.json"
    path.write_text(json.dumps({**made_up.manifest, key: value}))
    with pytest.raises(InputError) as refused:
        kits.current()
    first, *wrong = str(refused.value).splitlines()
    assert first == f"{path} is not a manifest:"
    assert f"  {said}" in wrong


def test_a_manifest_that_is_none_is_refused(made_up: Kit) -> None:
    path = made_up.path / "kit.json"
    for text in ("", "[]", "{", '{"format": 1}', "[" * 100000):
        path.write_text(text)
        with pytest.raises(InputError, match=r"kit\.json|cannot be used; run: tailback"):
            kits.current()


def test_a_guest_is_planned_for_with_what_it_may_take(
    made_up: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    point: Any = None
    assert Kernel(made_up).memory(point) == (2048 + confine.SPARE_MIB) << 20
    monkeypatch.setenv("TAILBACK_GUEST_MIB", "512")
    assert Kernel(made_up).memory(point) == (512 + confine.SPARE_MIB) << 20
