"""Draws figures for another process: each line of stdin is a specification, each line of stdout its
SVG.

It runs as a script, so that it loads only the drawing. A figure that cannot be drawn gives an empty
line; the other process finds out why.
"""

import json
import signal
import sys


def main() -> None:
    """Draw until stdin ends."""
    # The other process handles Ctrl-C and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import vl_convert

    # The other process reads SVG from stdout, so nothing else may write to it.
    with open(1, "w", encoding="ascii", closefd=False) as pipe:
        for line in sys.stdin:
            try:
                svg = vl_convert.vegalite_to_svg(line, vl_version=sys.argv[1])
            except ValueError:
                svg = ""
            pipe.write(json.dumps(svg) + "\n" if svg else "\n")
            pipe.flush()


if __name__ == "__main__":
    main()
