"""Draws the figures of a report in separate processes while the report is made.

Drawing takes most of the time that a report needs. Drawing holds the interpreter's lock, so threads
of one process could not draw in parallel. An SVG depends neither on the process that draws it, nor
on the figures that this process drew before.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tailback.base import machine
from tailback.figures import export

ENOUGH = 40
"""Number of marks that take about twice as long to draw as a process takes to start."""


class Drawing:
    def __init__(self, most: int) -> None:
        self._most = most
        self._marks = 0
        self._asked: dict[str, str] = {}
        self._made: dict[str, str] = {}
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []

    def add(self, name: str, text: str) -> None:
        """Start drawing a figure. `text` is its specification as JSON."""
        self._asked[name] = text
        self._waiting.put(name)
        self._marks += text.count('"mark"')
        if len(self._processes) < min(self._most, self._marks // ENOUGH):
            self._begin()

    def _begin(self) -> None:
        process = _helper()
        if process is None:
            self._most = 0
            return
        self._processes.append(process)
        self._threads.append(threading.Thread(target=self._work, args=(process,), daemon=True))
        self._threads[-1].start()

    def svgs(self) -> dict[str, str]:
        """Return all figures, in the order in which they were requested."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        # Draw the figures that the child processes could not draw, so that their errors are raised.
        return {
            name: self._made[name] if name in self._made else export.svg_of(text)
            for name, text in self._asked.items()
        }

    def _work(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            while (name := self._waiting.get()) is not None:
                process.stdin.write(self._asked[name] + "\n")
                process.stdin.flush()
                drawn = process.stdout.readline()
                if not drawn:
                    return
                if drawn != "\n":
                    self._made[name] = export.numbered(json.loads(drawn))

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@contextmanager
def drawing(jobs: int | None = None) -> Iterator[Drawing]:
    """Draw figures with at most this many processes. The default is one process for each core."""
    made = Drawing(machine.cores() if jobs is None else jobs)
    try:
        yield made
    finally:
        made.end()


def svgs(texts: Mapping[str, str], jobs: int | None = None) -> dict[str, str]:
    """Return the SVG of each figure by name, from its specification as JSON."""
    with drawing(jobs) as made:
        for name, text in texts.items():
            made.add(name, text)
        return made.svgs()


def _helper() -> subprocess.Popen[str] | None:
    """Start a process that draws figures. Return None if this system cannot start the process."""
    script = Path(__file__).with_name("drawer.py")
    if not sys.executable or not script.is_file():
        return None
    # With -P, Python does not import from the script's folder, whose modules have the same names as
    # other packages.
    command = [sys.executable, "-P", str(script), export.VEGA_LITE]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
    except OSError:
        return None
