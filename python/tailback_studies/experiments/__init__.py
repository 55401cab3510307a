"""Published experiments. Each published experiment is a Python package.

To add an experiment, write a package whose module has a constant `EXPERIMENT`, and add a line to
`tailback_studies.STUDIES`. Experiments in other Python packages are found through the entry points
of these packages.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from tailback import studies
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback_studies import STUDIES
from tailback_studies.experiments.titles import TITLES

if TYPE_CHECKING:
    from tailback_studies.reproduction.experiment import Experiment

NAMES = tuple(STUDIES.experiments)
"""The names of the experiments in this package."""


def get(name: str) -> Experiment:
    """Return the experiment of this name, from any installed package of studies."""
    known = {**STUDIES.experiments, **studies.experiments()}
    if name not in known:
        raise InputError(unknown("experiment", name, tuple(known)))
    experiment: Experiment = import_module(known[name]).EXPERIMENT
    return experiment


def listed() -> Iterator[tuple[str, str]]:
    """Yield the name and title of each experiment, for `tailback list experiments`."""
    for name in {**STUDIES.experiments, **studies.experiments()}:
        yield name, TITLES[name] if name in TITLES else get(name).title
