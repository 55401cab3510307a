"""Checks that `tailback-sim` gives the same bytes in WebAssembly as on this machine, alone and with
real transport stacks.

`make lab` builds the example for WebAssembly, `cargo test` for this machine. `make test-wasm`
builds the stacks for both.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WASM = TARGET / "wasm32-unknown-unknown/wasm/examples/json.wasm"
NATIVE = TARGET / "debug/examples/libjson.so"

STACKS = TARGET / "stacks"

# Stacks that use wasm-bindgen import functions of JavaScript. Here they return 0, so results cannot
# depend on them. A stack that draws random numbers fails.
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


def test_webassembly_gives_the_same_bytes() -> None:
    for file, command in ((WASM, "make lab"), (NATIVE, "cargo test -p tailback-sim")):
        if not file.exists():
            pytest.skip(f"{file.name} is not built; run: {command}")
    sources = [*(ROOT / "crates/engine/src").rglob("*.rs"), *(ROOT / "crates/sim").rglob("*.rs")]
    newest = max(path.stat().st_mtime for path in sources)
    if min(WASM.stat().st_mtime, NATIVE.stat().st_mtime) < newest:
        pytest.skip("the sources have changed; run: make lab, cargo test -p tailback-sim")
    if shutil.which("node") is None:
        pytest.skip("node is missing")
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
    for file in (native, wasm):
        if not file.exists():
            pytest.skip(f"{file.name} is not built; run: make test-wasm")
    crates = (ROOT / "crates/engine/src", ROOT / "crates/sim/src", ROOT / "stacks" / stack)
    newest = max(path.stat().st_mtime for crate in crates for path in crate.rglob("*.rs"))
    if min(native.stat().st_mtime, wasm.stat().st_mtime) < newest:
        pytest.skip("the sources have changed; run: make test-wasm")
    if shutil.which("node") is None:
        pytest.skip("node is missing")
    here = subprocess.run([native], capture_output=True, check=True).stdout
    [program] = json.loads(here)["programs"]
    assert program["name"] == stack
    assert program["throughput_mbit"] > 5
    assert here == in_node(wasm)
