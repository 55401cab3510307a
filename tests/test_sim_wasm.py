"""Checks that `tailback-sim` gives the same results, byte by byte, in WebAssembly as on this
machine, both alone and with real transport stacks.

`make lab` builds the example for WebAssembly, and `cargo test` builds it for this machine. `make
test-wasm` builds the stacks for WebAssembly and for this machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import ROOT

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WASM = TARGET / "wasm32-unknown-unknown/wasm/examples/json.wasm"
NATIVE = TARGET / "debug/examples/libjson.so"

STACKS = TARGET / "stacks"

# Stacks that use wasm-bindgen import functions of JavaScript. In this test, the imported functions
# return 0, so results cannot depend on them. A stack that draws random numbers from JavaScript
# fails.
NODE = """
const module = await WebAssembly.compile(require("fs").readFileSync(process.argv[1]));
const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => {
        if (/random|crypto/i.test(name)) throw new Error(name);
        return 0;
    };
}
const { run, results, memory } = (await WebAssembly.instantiate(module, imports)).exports;
const length = run();
process.stdout.write(Buffer.from(memory.buffer, results(), length));
"""


def in_node(file: Path) -> bytes:
    """Run the module, and return its results."""
    words = ["node", "-e", f"(async () => {{{NODE}}})()", str(file)]
    return subprocess.run(words, capture_output=True, check=True).stdout


def skip_unless_built(files: Sequence[Path], folders: Sequence[str], command: str) -> None:
    """Skip the test if node is missing, or if a file is missing or older than the Rust sources in
    these folders."""
    for file in files:
        if not file.exists():
            pytest.skip(f"{file.name} is not built; run: {command}")
    newest = max(path.stat().st_mtime for one in folders for path in (ROOT / one).rglob("*.rs"))
    if min(file.stat().st_mtime for file in files) < newest:
        pytest.skip(f"the sources have changed; run: {command}")
    if shutil.which("node") is None:
        pytest.skip("node is missing")


def test_webassembly_gives_the_same_bytes() -> None:
    skip_unless_built(
        (WASM, NATIVE),
        ("crates/engine/src", "crates/sim"),
        "make lab, cargo test -p tailback-sim",
    )
    native = ctypes.CDLL(str(NATIVE))
    native.run.restype = ctypes.c_size_t
    native.results.restype = ctypes.c_void_p
    length = native.run()
    here = ctypes.string_at(native.results(), length)
    assert [flow["name"] for flow in json.loads(here)["flows"]] == ["cubic", "prague", "bbr3"]
    assert here == in_node(WASM)


@pytest.mark.parametrize("stack", ["quinn", "smoltcp"])
def test_a_stack_gives_the_same_bytes(stack: str) -> None:
    native, wasm = STACKS / f"{stack}-json", STACKS / f"{stack}.wasm"
    folders = ("crates/engine/src", "crates/sim", f"stacks/{stack}")
    skip_unless_built((native, wasm), folders, "make test-wasm")
    here = subprocess.run([native], capture_output=True, check=True).stdout
    [program] = json.loads(here)["programs"]
    assert program["name"] == stack
    assert program["throughput_mbit"] > 5
    assert here == in_node(wasm)
