"""Tests endpoints of the QUIC interop runner in their container images, and programs with a
container image as their root."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tailback
from conftest import contents
from tailback.errors import InputError, TailbackError
from tailback.kernel.kit import Kit
from tailback.kernel.programs import roots
from tailback.kernel.steps import Steps

HERE = Path(__file__).resolve().parent / "interop"

BASE = """
duration = "6s"
[bottleneck]
rate = "10Mbit"
queue = { aqm = "fq_codel" }
[path]
rtt = "20ms"
"""

PAIR = """
[[programs]]
kind = "interop"
bytes = "300000b"
downloads = 2
sender = { root = "./image", cwd = "/app" }
receiver = { root = "./image", cwd = "/app" }
"""


@pytest.fixture(scope="module")
def image(kernel_kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an unpacked container image. The image contains a Linux distribution, and an endpoint in
    a folder."""
    if kernel_kit.manifest.get("lacks", True):
        pytest.skip("the guest kernel cannot run programs")
    with Steps(enabled=False) as steps:
        root = roots.get(["python3-aioquic"], steps)
    image = tmp_path_factory.mktemp("unpacked") / "image"
    shutil.copytree(root.path, image, symlinks=True)
    for name in ("run_endpoint.sh", "setup.sh", "wait-for-it.sh"):
        shutil.copy(HERE / name, image / name)
    (image / "app").mkdir()
    shutil.copy(HERE / "endpoint", image / "app")
    # The container image keeps its users file, but gets the guest's host names.
    (image / "etc/passwd").write_text("root:x:0:0:of the image:/root:/bin/sh\n")
    (image / "etc/hosts").write_text("192.0.2.1 server4\n")
    return image


def beside(folder: Path, image: Path, text: str) -> Path:
    """Write a scenario file beside the container image. Return its path."""
    folder.mkdir(exist_ok=True)
    (folder / "image").symlink_to(image)
    path = folder / "scenario.toml"
    path.write_text(BASE + text, encoding="utf-8")
    return path


def run(path: Path, out: Path, **more: Any) -> tailback.Run:
    [one] = tailback.run(path, engine="kernel", out=out, **more)
    return one


def test_a_client_fetches_all_that_the_server_has(tmp_path: Path, image: Path) -> None:
    path = beside(tmp_path / "a", image, PAIR)
    one = run(path, tmp_path / "one")
    [entry] = one.summary["programs"]
    assert entry["status"] == {"sender": None, "receiver": 0}
    found = entry["results"]
    assert found["whole_files"] == 2
    # The network carries the handshake and headers in addition to the payload.
    assert 600_000 < entry["delivered_bytes"] < 640_000
    assert found["seconds"] == pytest.approx(entry["completion_s"], abs=0.2)
    assert found["goodput_mbit"] == pytest.approx(4.8 / found["seconds"])
    logs = {side: one.path / f"programs/interop/{side}/out" for side in ("sender", "receiver")}
    for folder in logs.values():
        assert len([*folder.glob("qlog/*.qlog")]) == 1
        assert "CLIENT_HANDSHAKE_TRAFFIC_SECRET" in (folder / "keys.log").read_text()
    assert json.loads((logs["receiver"] / "interop.json").read_text())["bytes"] == 600_000
    # The program cannot change the container image, so the same seed gives the same run.
    assert not (image / "app/notes").exists()
    run(path, tmp_path / "two")
    first, second = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert len(first) > 10
    assert [name for name in first if first[name] != second.get(name)] == []


def failure(folder: Path, image: Path, more: str, old: str = "", new: str = "") -> str:
    path = beside(folder, image, PAIR.replace(old, new) + more)
    with pytest.raises(TailbackError) as failed:
        run(path, folder / "out")
    return str(failed.value)


def test_what_an_endpoint_does_not_know_or_deliver_fails_the_run(
    tmp_path: Path, image: Path
) -> None:
    said = failure(tmp_path / "a", image, 'testcase = "retry"\n')
    assert "ended with status 127 before it was ready (the endpoint does not support" in said
    said = failure(tmp_path / "b", image, 'env = { CLIENT_PARAMS = "lazy" }\n')
    assert "0 of 2 files arrived complete in /downloads: file-1 is not there, file-2" in said


LOOK = r"""
[[programs]]
name = "look"
files = ["./look"]
env = { BOTH = "both", PATH = "/app:/usr/bin" }
sender = { run = ["/files/look", "$HOME"], root = "./image", env = { BOTH = "one {sender}" } }
receiver = { run = ["sh", "-c", "echo $BOTH $PWD; ls /app /etc/passwd; :"], cwd = "/tmp" }
"""


def test_an_image_is_the_root_of_one_side(tmp_path: Path, image: Path) -> None:
    path = beside(tmp_path / "a", image, LOOK)
    script = """#!/bin/sh
echo "$1 $PWD $BOTH $PATH"
ls -d /app /files /work /www /certs 2> /dev/null
cut -d: -f5 /etc/passwd
grep -c server4 /etc/hosts
readlink /bin
for file in /app/new /app/endpoint /var/new /etc/new /new /tmp/new /usr/new; do
    if echo x >> $file; then echo "$file"; fi 2> /dev/null
done
"""
    (tmp_path / "a/look").write_text(script)
    (tmp_path / "a/look").chmod(0o755)
    one = run(path, tmp_path / "out")
    said = {
        side: (one.path / f"programs/look/{side}/stdout.txt").read_text().splitlines()
        for side in ("sender", "receiver")
    }
    assert said["sender"] == [
        "$HOME / one 10.3.0.1 /app:/usr/bin",
        *("/app", "/files", "/work"),
        "of the image",
        "0",
        "usr/bin",
        *("/app/new", "/app/endpoint", "/var/new", "/etc/new", "/new", "/tmp/new"),
    ]
    assert said["receiver"] == ["both /tmp", "/etc/passwd"]
    # The run left no files in the container image.
    assert sorted(one.name for one in (image / "app").iterdir()) == ["endpoint"]


def test_all_that_is_wrong_is_said_before_a_guest_boots(tmp_path: Path, image: Path) -> None:
    folder = tmp_path / "a"
    path = beside(folder, image, "")
    for name in ("arm", "bare", "lost"):
        (folder / name / "bin").mkdir(parents=True)
    for name in ("arm", "bare"):
        script = folder / name / "run_endpoint.sh"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
    shell = bytearray((image / "usr/bin/busybox").read_bytes())
    shell[18] = 183
    (folder / "arm/bin/sh").write_bytes(shell)
    (folder / "arm/bin/sh").chmod(0o755)
    (folder / "lost/app").mkdir()
    shutil.copy(HERE / "run_endpoint.sh", folder / "lost/app")
    entries = [
        ('root = "./arm"', 'root = "./bare"'),
        ('root = "./lost"', 'root = "./image", cwd = "/none"'),
    ]
    path.write_text(
        BASE
        + "".join(
            f'[[programs]]\nkind = "interop"\nsender = {{ {server} }}\nreceiver = {{ {client} }}\n'
            for server, client in entries
        )
    )
    with pytest.raises(InputError) as wrong:
        run(path, folder / "out")
    said = [line.partition("scenario.toml:")[2] for line in str(wrong.value).splitlines()]
    assert said == [
        "10:10: /bin/sh is for 64-bit ARM; guests are x86-64",
        "11:12: /run_endpoint.sh is a script for /bin/sh, which the image does not have",
        '14:10: "/run_endpoint.sh" is not in the image; /app has it: cwd = "/app", '
        'run = ["./run_endpoint.sh"]',
        "15:38: the image has no folder /none",
    ]
