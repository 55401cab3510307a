"""The titles of the experiments in this package, by name.

The titles are in a separate module, so that `tailback list` does not import any experiment. If an
experiment has no line in this module, `tailback list` imports the experiment to get its title.
"""

from __future__ import annotations

TITLES = {
    "abe-2017": (
        "Alternative Backoff: Achieving Low Latency and High Throughput with ECN and AQM: "
        "Khademi, Armitage, Welzl, Zander, Fairhurst, Ros, 2017"
    ),
    "dctcp-internet-2014": (
        "Using Data Center TCP (DCTCP) in the Internet: Kühlewind, Wagner, Reyes Espinosa, "
        "Briscoe, 2014"
    ),
    "dualpi2-2022": (
        "Dual Queue Coupled AQM, Deployable Very Low Queuing Delay for All: Albisser and "
        "others, arXiv 2209.01078, 2022"
    ),
    "l4s-tests-2020": "L4S tests: Heist and others, heistp/l4s-tests, 2020",
    "ccafct-2020": (
        "Congestion control algorithm flow completion time test: Heist, heistp/ccafct, 2020"
    ),
    "imc-bbr-2023": (
        "When to use BBR: Cao and others, IMC 2019; replication by Datta and Fund, 2023"
    ),
    "pam-2025-l4s": "To adopt or not to adopt L4S: Sarpkaya, Fund and Panwar, PAM 2025",
    "sce-2019": (
        "Some Congestion Experienced One and Two-Flow Tests: Heist, Grimes, Morton, "
        "draft-heist-tsvwg-sce-one-and-two-flow-tests-00, 2019"
    ),
    "dualpi2-2019-wrr": (
        "DualPI2: WRR ratio 10 and 15, without overload handling, against the stable version "
        "of 21 February 2019"
    ),
    "dualpi2-2019-refactoring": "DualPI2: three commits of a refactoring (2019)",
    "kernels": "Kernels side by side: today's Linux and 6.12, 6.1 and 5.10",
    "quic-and-tcp": "QUIC stacks beside TCP flows of the kernel: a study of tailback's own",
}
