"""One module for each command; `cli.main` registers them, and each imports what it needs."""
