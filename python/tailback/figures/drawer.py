"""Draws figures in a child process of tailback. Each line of stdin is a Vega-Lite specification.
For each specification, the process prints the SVG as one line.

This file is run as a script, so that the process loads only the modules that draw figures. If the
process cannot draw a figure, it prints an empty line. The parent process then draws the figure
itself and reports the error.
"""

import json
import signal
import sys


def main() -> None:
    # Ignore Ctrl-C, because the parent process handles it and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import vl_convert

    # The parent process reads SVG from stdout, so nothing else may write to it.
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
