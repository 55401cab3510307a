"""Rich's console for untrusted text: it is printed as it is, never read as markup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tailback.base.foreign import shown


class PlainConsole(Console):
    """A console without markup, emoji codes and highlighting; control characters are escaped.

    `[bold]`, `:smile:` and links in a title are plain letters. Style comes from `Text` and from the
    columns of a table.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes before anything is measured."""
        return super().render_str(shown(text), **{**options, "markup": False, "emoji": False})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escapes texts that arrive in another way: a `Text`, a renderable of Rich's own."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(shown(segment.text), segment.style)
            else:
                yield segment
