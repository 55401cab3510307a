"""The command line. `commands` has a module for each command, and `tables` prints the tables of
commands."""
