"""A Rich console for untrusted text. The console escapes control characters, and prints markup
literally."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tailback.base.foreign import shown


class PlainConsole(Console):
    """A console that prints markup such as `[bold]` and `:smile:` literally, and escapes control
    characters.

    Only `Text` objects and the columns of a table can set a style."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape control characters first, so that Rich measures the width of the escaped text."""
        return super().render_str(shown(text), **{**options, "markup": False, "emoji": False})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escape control characters also in `Text` and other renderables, because Rich does not
        pass these to `render_str`.
        """
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(shown(segment.text), segment.style)
            else:
                yield segment
