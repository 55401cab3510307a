"""Explains every reduction of a window, grouped by its cause."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tailback.explain import words

WHOLE = 0.9
"""A window counts as restored if it reaches this share of its earlier size."""


def of(recorded: dict[str, Any]) -> dict[str, Any]:
    counts, before = recorded["counts"], recorded["before"]
    columns = ("time_ns", "reason", "from", "to")
    listed = [
        {"time_s": at / 1e9, "reason": reason, "from": high, "to": low}
        for at, reason, high, low in zip(*(recorded[name] for name in columns), strict=True)
    ]
    _mark_undone(listed)
    whole = {name: counts.get(name, 0) + before.get(name, 0) for name in {**before, **counts}}
    groups = [_group(name, n, before.get(name, 0), listed) for name, n in whole.items()]
    groups.sort(key=lambda group: -group["count"])
    down = {name: n for name, n in whole.items() if name not in words.UNDONE}
    return {
        "count": sum(down.values()),
        "before_warmup": sum(before.get(name, 0) for name in down),
        "undone": sum(whole.get(name, 0) for name in words.UNDONE),
        "by_reason": dict(sorted(whole.items(), key=lambda item: -item[1])),
        "groups": groups,
        "listed": listed,
    }


def _mark_undone(listed: list[dict[str, Any]]) -> None:
    """Mark the window reductions that the sender undid. An undo applies to the last reduction that
    a loss caused."""
    last: dict[str, Any] | None = None
    for reduction in listed:
        if reduction["reason"] in words.UNDONE:
            if last is not None:
                last["undone"] = True
            last = None
        elif reduction["reason"] in words.LOSSES:
            last = reduction


def _group(reason: str, count: int, before: int, listed: list[dict[str, Any]]) -> dict[str, Any]:
    matches = [reduction for reduction in listed if reduction["reason"] == reason]
    steps = [reduction["to"] / reduction["from"] for reduction in matches if reduction["from"]]
    times = [reduction["time_s"] for reduction in matches]
    gaps = [b - a for a, b in pairwise(times)]
    down = pairwise(reduction for reduction in listed if reduction["reason"] not in words.UNDONE)
    again = [
        (reduction["from"], after["from"])
        for reduction, after in down
        if reduction["reason"] == reason
    ]
    return {
        "reason": reason,
        "count": count,
        "before_warmup": before,
        "listed": len(matches),
        "first_s": times[0] if times else None,
        "last_s": times[-1] if times else None,
        "period_s": median(gaps),
        "step": median(steps),
        "mean_step": sum(steps) / len(steps) if steps else None,
        "without_effect": sum(reduction["to"] >= reduction["from"] for reduction in matches),
        "from": median([reduction["from"] for reduction in matches]),
        "to": median([reduction["to"] for reduction in matches]),
        "undone": sum(reduction.get("undone", False) for reduction in matches),
        # `restored` counts the reductions after which the window grew back to its old size.
        # `followed` counts the reductions for which the run shows whether the window grew back.
        "followed": len(again),
        "restored": sum(after >= WHOLE * window for window, after in again),
    }


def restored(groups: list[dict[str, Any]], reasons: tuple[str, ...]) -> tuple[int, int]:
    """Return two counts of the reductions with these reasons. The first count is the number of
    reductions after which the window regained its earlier size before the next reduction. The
    second count is the number of reductions for which the run shows whether the window regained its
    size.
    """
    own = [group for group in groups if group["reason"] in reasons]
    return sum(group["restored"] for group in own), sum(group["followed"] for group in own)


def median(values: list[float] | list[int]) -> float | None:
    return float(sorted(values)[(len(values) - 1) // 2]) if values else None


def sentences(reductions: dict[str, Any], kernel: bool) -> list[str]:
    reasons = words.KERNEL_REASONS if kernel else words.REASONS
    if not reductions["count"] and not reductions["undone"]:
        return ["Its window was never reduced."]
    out = []
    before = (
        f", {reductions['before_warmup']} of them in the warm-up"
        if reductions["before_warmup"]
        else ""
    )
    undone = f"; {reductions['undone']} undone" if reductions["undone"] else ""
    out.append(
        f"Its window was reduced {words.count(reductions['count'], 'time')}{before}{undone}."
    )
    for group in reductions["groups"]:
        out.append(_sentence(group, reasons[group["reason"]]))
    return out


def _sentence(group: dict[str, Any], reason: str) -> str:
    after = group["count"] - group["before_warmup"]
    apart = f" ({after} after the warm-up)" if group["before_warmup"] and after else ""
    text = f"{group['count']}{apart} × {reason}"
    if not group["listed"]:
        return f"{text}."
    what = f"from {group['from']:.0f} to {group['to']:.0f} segments"
    if group["count"] == 1:
        text += f" at {words.moment(group['first_s'])}, {what} (× {group['step']:.2f})"
    else:
        whole = group["listed"] == group["count"]
        first, last = words.moment(group["first_s"]), words.moment(group["last_s"])
        if whole:
            text += f", from {first} to {last}"
            step = "; median step"
        else:
            # `account.json` lists only the first reductions, and counts the later reductions.
            several = f"; medians of the first {group['listed']}, from {first} up to {last}"
            text += several if group["listed"] > 1 else f"; the first at {first}"
            step = ", step"
        if group["period_s"]:
            gap = "median gap" if whole else "gap"
            text += f", {gap} {words.seconds(group['period_s'])}"
        text += f"{step} × {group['step']:.2f}, {what}"
        if abs(group["mean_step"] - group["step"]) >= 0.02:
            text += f", on average × {group['mean_step']:.2f}"
        if group["without_effect"] * 10 > group["listed"] and group["reason"] in ("ece", "sce"):
            share = words.percent(group["without_effect"] / group["listed"])
            text += f"; {share} were less than a segment, and so had no effect"
    if group["undone"]:
        text += f"; {group['undone']} undone"
    return text + "."
