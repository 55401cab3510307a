"""Checks that the program of docs/how-to/aioquic.md prints what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs/how-to/aioquic.md").read_text(encoding="utf-8")


def test_the_download_prints_what_the_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("aioquic", reason="aioquic is missing")
    [program] = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    [printed] = re.findall(r"(?m)^\$ python download\.py\n(.*)$", PAGE)
    file = tmp_path / "download.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed + "\n"
