"""Published experiments, one package each.

A new experiment is a new package and one line in `_MODULES`; its module has a
constant `EXPERIMENT`.
"""

from __future__ import annotations

from importlib import import_module

from tailback.errors import InputError
from tailback.names import unknown
from tailback.reproduction.experiment import Experiment

_MODULES = {
    "abe-2017": "tailback.experiments.abe_2017",
    "dctcp-internet-2014": "tailback.experiments.dctcp_internet_2014",
    "dualpi2-2022": "tailback.experiments.dualpi2_2022",
    "l4s-tests-2020": "tailback.experiments.l4s_tests_2020",
    "ccafct-2020": "tailback.experiments.ccafct_2020",
    "sce-2019": "tailback.experiments.sce_2019",
    "dualpi2-2019-wrr": "tailback.experiments.dualpi2_2019_wrr",
    "dualpi2-2019-refactoring": "tailback.experiments.dualpi2_2019_refactoring",
    "kernels": "tailback.experiments.kernels",
    "quic-and-tcp": "tailback.experiments.quic_and_tcp",
}

NAMES = tuple(_MODULES)


def get(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in _MODULES:
        raise InputError(unknown("experiment", name, NAMES))
    experiment: Experiment = import_module(_MODULES[name]).EXPERIMENT
    return experiment
