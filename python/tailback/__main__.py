"""Runs the command line as `python -m tailback`."""

from tailback.cli.main import main

main()
