"""Studies that are part of tailback: published experiments, sets of scenarios, and a validation.
Studies may use the modules of `tailback` that docs/contributing/studies.md lists. The command line
finds these studies through the entry point `tailback.studies`, as it finds studies of other
packages.
"""

from __future__ import annotations

from tailback.studies import Studies

BATTERIES = {
    "l4s-battery": "tailback_studies.batteries.l4s_battery",
}
"""The sets of scenarios by name. Each value is a module with a constant `BATTERY`."""

STUDIES = Studies(
    commands={
        "reproduce": "tailback_studies.cli.commands.reproduce:reproduce",
        "validate": "tailback_studies.cli.commands.validate:validate",
    },
    lists={"experiments": "tailback_studies.experiments:listed"},
    experiments={
        "abe-2017": "tailback_studies.experiments.abe_2017",
        "dctcp-internet-2014": "tailback_studies.experiments.dctcp_internet_2014",
        "dualpi2-2022": "tailback_studies.experiments.dualpi2_2022",
        "l4s-tests-2020": "tailback_studies.experiments.l4s_tests_2020",
        "ccafct-2020": "tailback_studies.experiments.ccafct_2020",
        "imc-bbr-2023": "tailback_studies.experiments.imc_bbr_2023",
        "pam-2025-l4s": "tailback_studies.experiments.pam_2025_l4s",
        "sce-2019": "tailback_studies.experiments.sce_2019",
        "dualpi2-2019-wrr": "tailback_studies.experiments.dualpi2_2019_wrr",
        "dualpi2-2019-refactoring": "tailback_studies.experiments.dualpi2_2019_refactoring",
        "kernels": "tailback_studies.experiments.kernels",
        "quic-and-tcp": "tailback_studies.experiments.quic_and_tcp",
    },
    batteries=dict.fromkeys(BATTERIES, "tailback_studies.batteries.side_by_side:run_named"),
)
"""The studies that this package adds. To register an experiment, add a line to `experiments`."""
