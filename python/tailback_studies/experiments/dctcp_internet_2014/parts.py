"""Lists the parts of the experiment."""

from __future__ import annotations

PARTS: tuple[str, ...] = (
    "fig1",
    "fig2",
    "fig3",
    "fig5",
    "table1",
    "fig6",
    "fig7",
    "fig8",
    "fig9",
    "fig10",
    "readings",
    "bdp",
    "ablation",
)
"""The parts: every figure and table of the paper, and three parts that the paper does not have."""

BEYOND = ("readings", "bdp", "ablation")
"""Parts that the paper does not have. On the kernel engine, these parts run only if the user names
them."""
