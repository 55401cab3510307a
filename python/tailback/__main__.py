"""Lets `python -m tailback` run the command line."""

from tailback.cli.main import main

main()
