"""Makes a figure on a page interactive. The legend selects curves, and the user can zoom in and
read values from tooltips.

Only figures on pages are interactive. Figures in files are not. This module
adds tooltips to the curves. The page's script (`templates/report.js`) shows the tooltip of the
curve nearest to the pointer.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

Spec = dict[str, Any]

AS_IT_IS = ("datasets", "config")
"""Keys whose values are not copied, because they are not changed and most of a specification is
data."""

FADED = 0.07
"""Opacity of curves that are not selected in the legend."""

CURVES = ("line", "trail")
CLIPPED = (*CURVES, "area", "point", "rule", "tick")
_SEVERAL = ("hconcat", "vconcat", "concat")
_SEE_THROUGH = ("point", "circle", "square", "tick")
"""Marks that Vega-Lite draws slightly transparent."""


def interactive(made: Spec) -> Spec:
    """Add a legend that selects curves, zoom along x, and tooltips on curves. Return the figure."""
    spec = {key: part if key in AS_IT_IS else copy.deepcopy(part) for key, part in made.items()}
    numbers = count()
    titles = _titles(spec)
    for view in _views(spec):
        for unit in _units(view):
            if _mark(unit) in CURVES and "tooltip" not in _channels(view, unit):
                said = _tooltip(_channels(view, unit), titles)
                unit["encoding"] = {**unit.get("encoding", {}), "tooltip": said}
    _add_zoom(spec, numbers)
    _add_legends(spec, numbers)
    return spec


def _views(spec: Spec) -> Iterator[Spec]:
    """Yield every view that has its own axes. A view is a unit (a chart with one mark), or several
    units in layers."""
    for several in _SEVERAL:
        for part in spec.get(several, ()):
            yield from _views(part)
    if isinstance(spec.get("spec"), dict):
        yield from _views(spec["spec"])
    if "mark" in spec or "layer" in spec:
        yield spec


def _units(view: Spec) -> Iterator[Spec]:
    if "mark" in view:
        yield view
    for part in view.get("layer", ()):
        yield from _units(part)


def _mark(unit: Spec) -> str:
    mark = unit["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def _channels(view: Spec, unit: Spec) -> Spec:
    """Return the encoding of a unit, merged with the encoding of the view that contains it."""
    return {**view.get("encoding", {}), **unit.get("encoding", {})}


def _titles(spec: Spec) -> dict[str, str]:
    """Return the title of each field. Search all panels, because in a column of panels only the
    last panel has an x title.
    """
    titles: dict[str, str] = {}
    for view in _views(spec):
        for unit in _units(view):
            for channel in _channels(view, unit).values():
                if isinstance(channel, dict) and isinstance(channel.get("title"), str):
                    titles.setdefault(str(channel.get("field")), channel["title"])
    return titles


def _tooltip(channels: Spec, titles: Mapping[str, str]) -> list[Spec]:
    """Return the entries of a tooltip: the name of the curve, x and y."""
    entries: list[Spec] = []
    for name in ("color", "strokeDash", "x", "y"):
        channel = channels.get(name)
        if not isinstance(channel, dict) or "field" not in channel:
            continue
        if any(other["field"] == channel["field"] for other in entries):
            continue
        entry: Spec = {"field": channel["field"], "type": channel.get("type", "nominal")}
        legend = channel.get("legend")
        title = channel.get("title") or (isinstance(legend, dict) and legend.get("title"))
        title = title or titles.get(channel["field"])
        if isinstance(title, str) and title:
            entry["title"] = title
        if entry["type"] == "quantitative":
            axis = channel.get("axis")
            form = axis.get("format") if isinstance(axis, dict) else None
            entry["format"] = ".2%" if form == "%" else ".4~g"
        entries.append(entry)
    return entries


def _add_zoom(spec: Spec, numbers: Iterator[int], common: str = "") -> None:
    """Add zoom. Dragging moves the figure along x, the wheel with Ctrl zooms, and a double click
    resets.

    Panels that share their axis move together. Swiping with a finger, or turning the
    wheel without Ctrl, scrolls the page.
    """
    for several in _SEVERAL:
        if several in spec:
            shared = spec.get("resolve", {}).get("scale", {}).get("x") == "shared"
            name = common or (f"zoom{next(numbers)}" if shared else "")
            for part in spec[several]:
                _add_zoom(part, numbers, name)
    if isinstance(spec.get("spec"), dict):
        _add_zoom(spec["spec"], numbers, common)
    if "mark" not in spec and "layer" not in spec:
        return
    units = list(_units(spec))
    curves = [unit for unit in units if _mark(unit) in CURVES]
    if not curves or not all(_runs(_channels(spec, unit)) for unit in curves):
        return
    curves[0].setdefault("params", []).append(
        {
            "name": common or f"zoom{next(numbers)}",
            "bind": "scales",
            "select": {
                "type": "interval",
                "encodings": ["x"],
                "zoom": "wheel![event.ctrlKey || event.metaKey]",
                "translate": "[pointerdown[event.pointerType === 'mouse'], window:pointerup]"
                " > window:pointermove!",
            },
        }
    )
    for unit in units:
        if _mark(unit) in CLIPPED:
            mark = unit["mark"]
            unit["mark"] = {**(mark if isinstance(mark, dict) else {"type": mark}), "clip": True}


def _runs(channels: Spec) -> bool:
    """Return whether x is numeric and not binned."""
    x = channels.get("x", {})
    return x.get("type") == "quantitative" and "field" in x and not x.get("bin")


def _add_legends(spec: Spec, numbers: Iterator[int]) -> None:
    """Make legends select series. A click shows only one series, and further clicks add series.
    Without a selection, all series are shown."""
    names: dict[str, str] = {}
    views = list(_views(spec))
    for view in views:
        for unit in _units(view):
            field = _field(view, unit)
            channel = _channels(view, unit).get("color", {})
            if field is None or field in names or channel.get("legend", True) is None:
                continue
            names[field] = f"pick{next(numbers)}"
            select = {"type": "point", "fields": [field], "toggle": "true"}
            unit.setdefault("params", []).append(
                {"name": names[field], "bind": "legend", "select": select}
            )
    for view in views:
        for unit in _units(view):
            field = _field(view, unit)
            if field not in names or "opacity" in _channels(view, unit):
                continue
            mark = unit["mark"] if isinstance(unit["mark"], dict) else {}
            whole = mark.get("opacity", 0.7 if _mark(unit) in _SEE_THROUGH else 1)
            unit["encoding"]["opacity"] = {
                "condition": {"param": names[field], "value": whole},
                "value": FADED * whole,
            }


def _field(view: Spec, unit: Spec) -> str | None:
    colour = _channels(view, unit).get("color")
    if not isinstance(colour, dict) or colour.get("type") not in ("nominal", "ordinal"):
        return None
    field = colour.get("field")
    # A unit without its own encoding gets the colour of its view.
    return field if isinstance(field, str) and "encoding" in unit else None
