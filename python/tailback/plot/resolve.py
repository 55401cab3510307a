"""Turns the user's request into a plan. Finds the named keys and quantities, and chooses the
options that the user left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tailback import metrics
from tailback.base.foreign import line
from tailback.base.names import nearest, unknown
from tailback.errors import InputError, InputErrors
from tailback.metrics import On, group_of, harm
from tailback.metrics.base import OfTwoResults
from tailback.metrics.parts import flows as flows_of
from tailback.plot import dimensions, kinds, quantities, values
from tailback.plot.dimensions import PARTS, Dimension
from tailback.plot.plan import Kind, Member, PlotPlan, PlotRequest
from tailback.plot.quantities import PlotQuantity, Recorded

if TYPE_CHECKING:
    from tailback.store.results import Results

TIME = "time"
MOST_PANELS = 64
MOST_FACETS = 2
HARM = "harm_throughput"
"""The default quantity if the user names a competitor, which is absent in some runs."""
BUFFER = "limit"
"""The key of a buffer's size. A sweep over this key shows the utilisation by default."""


def resolve(results: Results, asked: PlotRequest) -> PlotPlan:
    """Return the plan for a request. All mistakes of the request are reported together."""
    return _Search(results, asked).plan()


@dataclass
class _Search:
    results: Results
    asked: PlotRequest
    wrong: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def plan(self) -> PlotPlan:
        runs = self.results.points
        if not runs:
            raise InputError(
                f"{self.results.id}: none of its runs is stored; run its scenario again"
            )
        self.keys = dimensions.swept(runs)
        self.members = [Member(run, dimensions.texts(run, self.keys)) for run in runs]
        self.classes = {c["name"] for run in runs for c in run.summary.get("classes", ())}
        self.part_names = [name for names in PARTS.values() for name in names]
        self.wanted: dict[str, frozenset[str]] = {}
        self.competitor = self._competitor()
        self._where()
        kind = self._kind_asked()
        if len(self.asked.facet) > MOST_FACETS:
            self._say(f"--facet: at most {MOST_FACETS} (columns, rows)")
        self.axes: list[Sequence[str]] = [
            axis for axis in self.results.axes if len(self._tuples(axis)) > 1
        ]
        self._names(kind)
        self._check()
        recorded = self._recorded(kind)
        kind, y, x, down = self._quantities(kind, recorded)
        self._check()
        return self._roles(kind, y, x, down, recorded)

    def _say(self, message: str) -> None:
        self.wrong[message] = None

    def _check(self) -> None:
        if self.wrong:
            raise InputErrors(*self.wrong)

    def _tuples(self, axis: Sequence[str]) -> set[tuple[str, ...]]:
        return {tuple(member.texts.get(key, "") for key in axis) for member in self.members}

    def _known_key(self, word: str) -> str | None:
        """Return the swept key that has this name, or the only swept key whose path ends in this
        name. Otherwise return the word itself if it is flow, link or class.
        """
        ends = [name for name in self.keys if word == name or name.endswith(f".{word}")]
        if word in self.keys or len(ends) == 1:
            return word if word in self.keys else ends[0]
        return word if word in self.part_names else None

    def _key(self, word: str, option: str) -> str | None:
        """Like `_known_key`, but report an unknown name."""
        valid = [*self.keys, *self.part_names]
        found = self._known_key(word)
        if found is not None:
            return found
        self._say(f"{option}: {unknown('key', word, valid)}")
        return None

    def _where(self) -> None:
        for word, choices in self.asked.where.items():
            name = self._key(word, "--where")
            if name is None:
                continue
            if name not in self.keys:
                self.wanted[name] = frozenset(choices)
                continue
            dimension = self.keys[name]
            texts = {choice: dimension.text_of(choice) for choice in choices}
            for choice, text in texts.items():
                if text is None:
                    self._say(f"--where {word}: {unknown('value', choice, dimension.texts)}")
            if any(text is None for text in texts.values()):
                continue
            chosen = set(texts.values())
            self.members = [m for m in self.members if m.texts.get(name) in chosen]
        if not self.members:
            self._check()
            raise InputError("--where: no run is left; choose other values")
        # Keep only the swept values of the runs that `--where` selects.
        self.keys = dimensions.swept([member.run for member in self.members])

    def _competitor(self) -> str | None:
        """Return the competitor for a figure of harm: `--without`, or the only competitor that some
        run leaves out."""
        known = harm.competitors(run.without for run in self.results.points)
        asked = self.asked.without
        if asked is None:
            return known[0] if len(known) == 1 else None
        if self.asked.y is None:
            self.asked = replace(self.asked, y=HARM)
        if asked not in known:
            hint = f"run the scenario again with --without {line(asked)}"
            if known:
                hint = f"use one of {', '.join(map(line, known))}, or {hint}"
            self._say(f"--without: nothing was run without {line(asked)}; {hint}")
        return asked

    def _kind_asked(self) -> Kind | None:
        name = self.asked.kind
        if name is None:
            return None
        if name not in kinds.KINDS:
            self._say(f"--kind: {unknown('kind', name, list(kinds.KINDS))}")
            return None
        return kinds.KINDS[name]

    def _names(self, kind: Kind | None) -> None:
        """Check the options whose values must be keys, so that all mistakes are reported
        together."""
        asked = self.asked
        for word in asked.facet:
            self._key(word, "--facet")
        keyed = kind is None or kind.coloured
        if asked.color is not None and keyed and not self._is_known(asked.color):
            self._key(asked.color, "--color")
        keyed = kind is None or kind.x in ("key", "name")
        if asked.x is not None and keyed and not self._is_known(asked.x):
            self._key(asked.x, "--x")
        if asked.y is not None and self.wrong and not self._is_known(asked.y):
            # In a figure over time, y must be a series, or be left out.
            self._quantity(asked.y, values.recorded(self.members), "--y")

    def _recorded(self, kind: Kind | None) -> Recorded:
        """Return the recorded series, which are read only if the request may need one."""
        asked = [word for word in (self.asked.x, self.asked.y, self.asked.color) if word]
        known = all(self._is_known(word) for word in asked)
        if known and asked and kind is not None and not kind.over_time:
            return {}
        if known and asked and kind is None and TIME not in asked:
            return {}
        if not asked and self.axes and (kind is None or not kind.over_time):
            return {}
        return values.recorded(self.members)

    def _is_known(self, word: str) -> bool:
        if word == TIME or self._is_key(word):
            return True
        word, _, _ = quantities.of_name(word)
        try:
            quantities.find(word, {}, classes=self.classes, competitor=self.competitor)
        except OfTwoResults:
            # The quantity exists. A later step reports that this quantity needs two results.
            return True
        except InputError:
            return False
        return True

    def _is_key(self, word: str | None) -> bool:
        return word is not None and self._known_key(word) is not None

    def _quantity(
        self, word: str, recorded: Recorded, option: str, *, over_time: bool = False
    ) -> PlotQuantity | None:
        stem, at, name = quantities.of_name(word)
        try:
            found = quantities.find(
                stem,
                recorded,
                over_time=over_time,
                classes=self.classes,
                competitor=self.competitor,
            )
        except InputError as error:
            self._say(f"{option}: {error}")
            return None
        return self._of_named(found, name, option) if at else found

    def _of_named(self, quantity: PlotQuantity, name: str, option: str) -> PlotQuantity | None:
        """Restrict a quantity to one link, flow or class."""
        stem = quantity.name
        offered = [quantity]
        if quantity.metric is not None:
            offered = [
                quantities.of_metric(stem, metric, self.competitor)
                for metric in metrics.offered(stem)
            ]
            offered.sort(key=lambda candidate: metrics.ONS.index(candidate.on))
        names: dict[On, list[str]] = {
            candidate.on: self._named_parts(candidate.on)
            for candidate in offered
            if candidate.on != "run"
        }
        for candidate in offered:
            if name in names.get(candidate.on, ()):
                part = PARTS[candidate.on][0]
                if self.wanted.setdefault(part, frozenset([name])) != {name}:
                    self._say(f"{option}: {line(stem)}@{line(name)}: another {part} is chosen too")
                title = (
                    candidate.title
                    if candidate.on == "link"
                    else f"{candidate.title} of {line(name)}"
                )
                return replace(candidate, name=f"{stem}@{name}", title=title)
        kind = " or ".join(names)
        if not kind:
            self._say(f"{option}: {line(stem)} is of the run; expected it without @{line(name)}")
            return None
        valid = [known for of in names.values() for known in of]
        self._say(f"{option}: {line(stem)}: {unknown(kind, name, valid)}")
        return None

    def _named_parts(self, on: On) -> list[str]:
        runs = (member.run.summary for member in self.members)
        each = (known[PARTS[on][0]] for run in runs for known, _ in dimensions.parts(run, on))
        return list(dict.fromkeys(each))

    def _quantities(
        self, kind: Kind | None, recorded: Recorded
    ) -> tuple[Kind, PlotQuantity, str | PlotQuantity | None, str | None]:
        """Return the kind of plot, the quantity, and x (a key, a quantity or None). For a heat map,
        also return the key of its rows.
        """
        x, y, color = self.asked.x, self.asked.y, self.asked.color
        kind = kind or self._kind(recorded)
        down = None
        if not kind.coloured:
            # In a heat map, one of `y` and `color` is a key, and the other is the quantity.
            if self._is_key(y):
                y, down = color, self._key(str(y), "--y")
            elif self._is_key(color):
                y, down = y, self._key(str(color), "--color")
            elif y is not None and color is not None:
                self._key(color, "--color")
            else:
                y = y or color
        elif self._is_key(y):
            self._say(f'--y: "{line(str(y))}" is a key; expected a metric or a series')
            y = None
        elif color is not None:
            self._key(color, "--color")
        chosen = self._quantity(
            y or self._default(kind, recorded), recorded, "--y", over_time=kind.over_time
        )
        across: str | PlotQuantity | None = None
        if kind.x == "none":
            if x is not None and not (kind.over_time and x == TIME):
                self._say(
                    f"--x: {kind.name} has {'time' if kind.over_time else 'the values of --y'} "
                    "there; expected none"
                )
        elif kind.x == "quantity":
            if self._is_key(x):
                across = self._key(str(x), "--x")
            else:
                across = self._quantity(x or "delay_ms.mean", recorded, "--x")
        elif x is not None:
            if not self._is_key(x) and self._is_known(x) and x != TIME:
                self._say(f'--x: "{line(x)}" is not a key; --kind scatter draws over a metric')
            else:
                across = self._key(x, "--x")
        if chosen is None:
            self._check()
            raise AssertionError("a quantity that is not there has a message")
        return kind, chosen, across, down

    def _kind(self, recorded: Recorded) -> Kind:
        x, y = self.asked.x, self.asked.y
        numeric = any(self._numeric(axis) for axis in self.axes)
        if x == TIME:
            return kinds.KINDS["time"]
        if x is not None:
            if not self._is_key(x):
                return kinds.KINDS["scatter" if self._is_known(x) or recorded else "line"]
            name = self._key(x, "--x")
            found = self.keys.get(name or "")
            return kinds.KINDS["line" if found and found.numbers else "bar"]
        if y is not None:
            if self._is_key(y):
                return kinds.KINDS["line"]
            try:
                stem, _, _ = quantities.of_name(y)
                found_y = quantities.find(
                    stem, recorded, classes=self.classes, competitor=self.competitor
                )
            except InputError:
                return kinds.KINDS["line"]
            if found_y.source == "series":
                return kinds.KINDS["time"]
            if found_y.source == "histogram":
                return kinds.KINDS["cdf"]
            return kinds.KINDS["line" if numeric else "bar"]
        if numeric:
            return kinds.KINDS["line"]
        if self._are_of_flows():
            return kinds.KINDS["bar"]
        if not self.axes and kinds.KINDS["time"].default in recorded:
            return kinds.KINDS["time"]
        return kinds.KINDS["cdf"]

    def _default(self, kind: Kind, recorded: Recorded) -> str:
        """Return the quantity to draw if the user names none."""
        buffers = [k for axis in self.axes for k in axis if k.rpartition(".")[2] == BUFFER]
        if kind.x == "key" and buffers:
            return "utilisation"
        if kind.x != "none" and self._are_of_flows():
            return "throughput_mbit"
        if kind.over_time and kind.default not in recorded and recorded:
            return next(iter(recorded))
        return kind.default

    def _are_of_flows(self) -> bool:
        """Return whether several flows share the network and the sweep varies only the names of
        their algorithms. For such a sweep, the throughputs of flows are a better default quantity
        than the delay of a queue.
        """
        keys = [key for axis in self.axes for key in axis]
        several = len({flow["name"] for flow in flows_of(self.members[0].run.summary)}) > 1
        named = not any(map(self._numeric, self.axes))
        return bool(keys) and several and named and all(key.startswith("flows") for key in keys)

    def _numeric(self, axis: Sequence[str]) -> bool:
        return any(self.keys[key].numbers is not None for key in axis if key in self.keys)

    def _roles(
        self,
        kind: Kind,
        y: PlotQuantity,
        x: str | PlotQuantity | None,
        down: str | None,
        recorded: Recorded,
    ) -> PlotPlan:
        parts = self._parts(y, recorded)
        self._check()
        free = [axis for axis in self.axes if not self._uses(axis, self._asked_keys(x, down))]
        names = PARTS[y.on]
        several = [name for name in names[:1] if len(parts[name].texts) > 1]
        asked_parts = {x, down, *(self._asked_keys(None, None))}
        if any(name in asked_parts for name in names):
            several = []
        roles: dict[str, Dimension] = {}
        across: Dimension | PlotQuantity | None
        if isinstance(x, PlotQuantity):
            across = x
        elif x is not None:
            across = roles["x"] = self._dimension(x, parts)
        elif kind.x in ("key", "name"):
            across = roles["x"] = self._across(kind, free, several, parts)
        else:
            across = None
        rows = None
        if not kind.coloured:
            if down is None:
                rows = self._across(kind, free, several, parts)
            else:
                rows = self._dimension(down, parts)
        elif self.asked.color is not None:
            name = self._key(self.asked.color, "--color")
            if name is not None:
                roles["series"] = self._dimension(name, parts)
        for role, word in zip(("column", "row"), self.asked.facet, strict=False):
            name = self._key(word, "--facet")
            if name is not None:
                roles[role] = self._dimension(name, parts)
        self._check()
        self._rest(kind, y, roles, free, several, parts)
        self._check()
        panels = 1
        for role in ("column", "row"):
            panels *= len(roles[role].texts) if role in roles else 1
        if panels > MOST_PANELS:
            raise InputError(
                f"{panels} panels; expected at most {MOST_PANELS}: choose values with --where"
            )
        scopes: dict[On, Mapping[str, frozenset[str]]] = {y.on: self._chosen(parts)}
        own_link = False
        if isinstance(across, PlotQuantity) and across.on != y.on:
            other = self._parts(across, recorded)
            own_link = self._own_link(across, y, other)
            scopes[across.on] = self._chosen(other)
            self._check()
        if isinstance(across, PlotQuantity):
            across = self._of_link(across, own_link=own_link)
        y = self._of_link(y)
        return PlotPlan(
            kind=kind,
            y=y,
            x=across,
            members=self.members,
            roles=roles,
            parts=scopes,
            own_link=own_link,
            down=rows,
            x_scale=self.asked.x_scale,
            y_scale=self.asked.y_scale,
            notes=self.notes,
        )

    def _own_link(
        self, across: PlotQuantity, y: PlotQuantity, links: Mapping[str, Dimension]
    ) -> bool:
        """Return whether to plot each flow or class against the quantity of the first link on its
        route. If the result is false, restrict the figure to the first link of the network."""
        if across.on != "link" or len(links["link"].texts) < 2:
            return False
        if y.on in ("flow", "class"):
            self.notes.append(f"{across.name}: of the first link of each {y.on}'s route")
            return True
        first = links["link"].texts[0]
        self.notes.append(f"of link only {first}")
        self.wanted["link"] = frozenset([first])
        return False

    def _of_link(self, quantity: PlotQuantity, *, own_link: bool = False) -> PlotQuantity:
        """If runs have several links, add the name of the drawn link to the quantity's title."""
        wanted = self.wanted.get("link", frozenset())
        several = any(len(member.run.summary["queues"]) > 1 for member in self.members)
        if quantity.on != "link" or not several:
            return quantity
        if own_link:
            return replace(quantity, title=f"{quantity.title} of the flow's first link")
        if len(wanted) == 1:
            return replace(quantity, title=f"{quantity.title} of {next(iter(wanted))}")
        return quantity

    def _asked_keys(self, x: str | PlotQuantity | None, down: str | None) -> set[str]:
        words = [self.asked.color, *self.asked.facet, down]
        found = {self._key(w, "") for w in words if w is not None and self._is_key(w)}
        return {name for name in (*found, x if isinstance(x, str) else None) if name}

    def _uses(self, axis: Sequence[str], keys: set[str]) -> bool:
        """Return whether these keys alone identify every step of a swept axis."""
        own = [key for key in axis if key in keys]
        return bool(own) and len(self._tuples(own)) == len(self._tuples(axis))

    def _dimension(self, name: str, parts: Mapping[str, Dimension]) -> Dimension:
        if name in self.keys:
            return self.keys[name]
        if name in parts:
            return parts[name]
        own = name in metrics.ONS and self.asked.y is not None and "." not in self.asked.y
        hint = f"; write {name}.{self.asked.y} for the value of each {name}" if own else ""
        self._say(f'"{name}" does not distinguish {" or ".join(parts) or "runs"}{hint}')
        return Dimension(name, name, [""])

    def _axis(self, axis: Sequence[str]) -> Dimension:
        known = [self.keys[key] for key in axis if key in self.keys]
        return dimensions.joined(known, [member.texts for member in self.members])

    def _across(
        self,
        kind: Kind,
        free: list[Sequence[str]],
        several: list[str],
        parts: Mapping[str, Dimension],
    ) -> Dimension:
        """Choose the x axis from the dimensions that have no role yet."""

        def fits(axis: Sequence[str]) -> tuple[bool, int]:
            numeric = self._numeric(axis)
            return numeric == (kind.x == "key"), len(self._tuples(axis))

        if free:
            # If several keys are equally suitable, choose the last, which varies fastest in the
            # sweep.
            best = max(reversed(free), key=fits)
            free.remove(best)
            numeric = [key for key in best if self.keys[key].numbers is not None]
            for key in numeric if kind.x == "key" else best:
                if self._uses(best, {key}):
                    return self.keys[key]
            return self._axis(best)
        if several:
            return parts[several.pop()]
        name = next(iter(parts), None)
        return parts[name] if name else Dimension("", "", [""])

    def _rest(
        self,
        kind: Kind,
        y: PlotQuantity,
        roles: dict[str, Dimension],
        free: list[Sequence[str]],
        several: list[str],
        parts: Mapping[str, Dimension],
    ) -> None:
        """Assign a role to every remaining dimension, because only seeds may be averaged."""
        open_ = [role for role in ("series", "column", "row") if role not in roles]
        if kind.x == "quantity":
            open_ = open_[:1] if self.asked.color is None else []
        if not kind.coloured:
            open_.remove("series")
        if self.asked.facet:
            open_ = [role for role in open_ if role == "series"]
        if y.on == "link" and several and ("series" not in open_ or free):
            # Draw only the first link, because other links carry the reverse direction or come
            # later on the path.
            first = parts["link"].texts[0]
            self.notes.append(f"of link only {first}")
            self.wanted["link"] = frozenset([first])
            several = []
        waiting = [parts[name] for name in several]
        # Prefer to show names, not numbers, by colour.
        for axis in sorted(free, key=self._numeric):
            waiting.append(self._axis(axis))
        for dimension in list(waiting):
            if open_:
                roles[open_.pop(0)] = dimension
                waiting.remove(dimension)
        if kind.x == "quantity":
            # Each combination of the remaining values becomes a dot, so the remaining dimensions
            # need no role.
            return
        for dimension in waiting:
            if self.asked.nothing and dimension.keys:
                first = dimension.texts[0]
                self.notes.append(f"of {dimension.name} only {first}")
                self.members = [
                    m for m in self.members if dimensions.text_at(dimension, m.texts) == first
                ]
                continue
            name = (dimension.keys or (dimension.name,))[0]
            raw = self.keys[name].raw if name in self.keys else {}
            example = min(next(iter(raw.values()), [dimension.texts[0]]), key=len)
            self._say(
                f"{dimension.title} differs too and would be pooled: set --color {name}, --facet "
                f"{name} or --where '{name}={line(example)}'"
            )

    def _parts(self, quantity: PlotQuantity, recorded: Recorded) -> dict[str, Dimension]:
        """Return the flows, links or classes to draw, as dimensions."""
        parts: dict[tuple[tuple[str, str], ...], None] = {}
        for known in self._parts_with_values(quantity, recorded):
            if all(known.get(name, "") in self.wanted[name] for name in self._wanted(quantity.on)):
                parts[tuple(known.items())] = None
        if not parts:
            wanted = " and ".join(
                f"{name} is {', '.join(sorted(self.wanted[name]))}"
                for name in self._wanted(quantity.on)
            )
            where = f" where {wanted}" if wanted else ""
            why = "" if wanted else self._without_values(quantity)
            self._say(f'nothing has a value of "{line(quantity.name)}"{line(where)}{why}')
        return dimensions.of_parts(PARTS[quantity.on], [dict(one) for one in parts])

    def _without_values(self, quantity: PlotQuantity) -> str:
        """Return the description of a metric for which no run has a value, and the most similar
        metric with values."""
        if quantity.metric is None:
            return ""
        summaries = [member.run.summary for member in self.members]
        valid = [
            metric.name
            for metric in metrics.METRICS
            if any(
                metric.value(part) is not None
                for summary in summaries
                for _, part in dimensions.parts(summary, metric.on)
            )
        ]
        near = nearest(quantity.name, valid)
        hint = f'; did you mean "{near}"?' if near is not None else ""
        return f" ({quantity.metric.doc.rstrip('.')}){hint}"

    def _wanted(self, on: On) -> list[str]:
        return [name for name in PARTS[on] if name in self.wanted]

    def _chosen(self, parts: Mapping[str, Dimension]) -> dict[str, frozenset[str]]:
        return {name: self.wanted.get(name, frozenset(one.texts)) for name, one in parts.items()}

    def _parts_with_values(
        self, quantity: PlotQuantity, recorded: Recorded
    ) -> Iterator[dict[str, str]]:
        named = bool(self._wanted(quantity.on))
        traffic: list[dict[str, str]] = []
        some = False
        for member in self.members:
            summary = member.run.summary
            flows = {group_of(flow["name"]) for flow in flows_of(summary)}
            for known, part in dimensions.parts(summary, quantity.on):
                if not self._has(quantity, known, part, recorded):
                    continue
                if quantity.on == "flow" and known["flow"] not in flows:
                    traffic.append(known)
                else:
                    some = True
                    yield known
        if named or not some:
            yield from traffic

    def _has(
        self,
        quantity: PlotQuantity,
        known: Mapping[str, str],
        part: Mapping[str, Any],
        recorded: Recorded,
    ) -> bool:
        if quantity.metric is not None:
            return quantity.metric.value(part) is not None
        name = PARTS[quantity.on][0]
        if quantity.source == "histogram":
            return quantity.on == "link" or "rtt_ms" in part
        return quantity.stored in recorded and known[name] in recorded[quantity.stored][1]
