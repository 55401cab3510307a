"""Shows a comparison in a notebook."""

from __future__ import annotations

import html

from tailback.comparison.model import Comparison
from tailback.comparison.text import difference_text, with_spread_of


def table(comparison: Comparison) -> str:
    """Return an HTML table with a row for each of the first 100 compared quantities. Flagged
    differences are in bold.
    """
    shown = [cell for cell in comparison.cells if not cell.nothing]
    paths = list(dict.fromkeys(path for cell in comparison.cells for path in cell.params))
    heads = [*paths, "", "quantity", *(v.name for v in comparison.variants)]
    heads += [f"{v.name} − {comparison.baseline.name}" for v in comparison.others]
    rows = []
    for cell in shown[:100]:
        texts = [cell.labels.get(path, "") for path in paths]
        texts += [cell.name or cell.kind, f"{cell.metric.name} {cell.metric.unit}".strip()]
        texts += [with_spread_of(cell.values.get(variant.name)) for variant in comparison.variants]
        cells = [html.escape(text) for text in texts]
        for variant in comparison.others:
            difference = cell.differences.get(variant.name)
            text = html.escape(difference_text(difference))
            cells.append(f"<b>{text}</b>" if difference and difference.flagged else text)
        rows.append("<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>")
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    more = f"<p>… and {len(shown) - 100} more rows</p>" if len(shown) > 100 else ""
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in comparison.notes())
    return (
        f"<table><caption>{html.escape(comparison.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{more}{notes}"
    )
