"""Lists the kinds of plots. To add a kind, write a module, and add a line to this file.

Drawing imports Altair, but listing the kinds does not.
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
