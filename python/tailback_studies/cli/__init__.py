"""Commands, tables and completions that studies add to the command line."""
