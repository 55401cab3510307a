"""The command line: `commands` has a module for each command, `tables` the tables they print."""
