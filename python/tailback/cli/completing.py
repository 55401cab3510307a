"""Completes names in a shell: installed algorithms and programs, metrics, and stored results.

Completion must be fast, so this module imports only modules that load quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


LISTS = ("cc", "aqm", "traffic", "impairments", "paths", "programs", "metrics")
"""The lists that `tailback list` prints, without the lists that studies add."""


def completer(names: Callable[[click.Context], Iterable[tuple[str, str]]]) -> Completer:
    """Return a callback for click that completes names and shows their help texts.

    If listing the names fails, the callback completes nothing.
    """

    def complete(
        context: click.Context, _parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from tailback.errors import TailbackError

        try:
            return [
                CompletionItem(name, help=text)
                for name, text in names(context)
                if name.startswith(begun)
            ]
        except (TailbackError, OSError):
            return []

    return complete


def _results(context: click.Context) -> Path:
    from tailback.store import layout

    return Path(context.params.get("out") or context.params.get("results") or layout.DEFAULT)


def _engines(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.running import engines

    return ((name, "") for name in engines.NAMES)


def _lists(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback import studies

    return ((word, "") for word in (*LISTS, *studies.lists()))


def _examples(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback import examples

    return ((name, examples.title(name)) for name in examples.names())


def _lessons(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.teaching import lessons

    return ((name, lessons.title(name)) for name in lessons.NAMES)


def _metrics(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback import metrics

    return ((metric.name, metric.doc) for metric in metrics.METRICS)


def _sweeps(context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.store import layout

    found = [file.parent.name for file in layout.sweeps(_results(context))]
    return [(name, "") for name in ([layout.LATEST] if found else []) + found]


def _runs(context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.store import layout

    found = sorted((_results(context) / "runs").glob("[!.]*/manifest.json"))
    names = [file.parent.name for file in found]
    return [(name, "") for name in ([layout.LATEST] if names else []) + names]


def _keys(context: click.Context) -> Iterable[tuple[str, str]]:
    """Yield the swept keys of the sweep that the command line names."""
    from tailback.store import archive, layout

    name = Path(context.params.get("results") or layout.LATEST)
    folder = archive.find(layout.LATEST, name) if _holds_sweeps(name) else None
    folder = folder or archive.find(str(name), layout.DEFAULT)
    index = layout.read_index(folder / layout.INDEX)
    return [(key, "") for axis in index.axes for key in axis]


def _holds_sweeps(folder: Path) -> bool:
    return (folder / "sweeps").is_dir()


def _quantities(context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.registry import entries

    yield from _metrics(context)
    yield from (("delay_ms", "queue delay of every packet"), ("rtt_ms", "every sample of the RTT"))
    yield from ((entry["name"], entry["doc"]) for entry in entries("series"))


def _kinds(_context: click.Context) -> Iterable[tuple[str, str]]:
    from tailback.plot.kinds import KINDS

    return ((kind.name, kind.doc) for kind in KINDS.values())


engine_names = completer(_engines)
list_words = completer(_lists)
example_names = completer(_examples)
lesson_names = completer(_lessons)
sweep_ids = completer(_sweeps)
run_ids = completer(_runs)
swept_keys = completer(_keys)
plot_quantities = completer(_quantities)
plot_kinds = completer(_kinds)
