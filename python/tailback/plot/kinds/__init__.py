"""The kinds of plots, one file each: a new one is a file and a line here.

Drawing imports Altair; what only asks which kinds there are does not.
"""

from tailback.plot.kinds import bar, box, cumulative, heat, line, scatter, time
from tailback.plot.plan import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        line.KIND,
        box.KIND,
        *cumulative.KINDS,
        time.KIND,
        scatter.KIND,
        heat.KIND,
        bar.KIND,
    )
}
