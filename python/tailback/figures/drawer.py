"""Draws figures for another process: a specification a line on stdin, its SVG a line on stdout.

It is run as a file, so that it loads the drawing and nothing else of tailback. What cannot be drawn
is an empty line: the other process finds out why.
"""

import json
import signal
import sys


def main() -> None:
    """Draws until there is no more."""
    # Ctrl-C is for the other process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import vl_convert

    # A pipe: only the other process reads this.
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
