"""The command line. `commands` has a module for each command; `tables` has the tables that commands
print."""
