"""Checks that `tailback-sim` gives the same bytes in WebAssembly as on this machine.

`make lab` builds the example for WebAssembly, `cargo test` for this machine.
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

NODE = """
const { instance } = await WebAssembly.instantiate(require("fs").readFileSync(process.argv[1]), {});
const { run, results, memory } = instance.exports;
const length = run();
process.stdout.write(Buffer.from(memory.buffer, results(), length));
"""


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
    words = ["node", "-e", f"(async () => {{{NODE}}})()", str(WASM)]
    there = subprocess.run(words, capture_output=True, check=True).stdout
    assert [flow["name"] for flow in json.loads(here)["flows"]] == ["cubic", "prague", "bbr3"]
    assert here == there
