"""The command line. `main` has the commands; what only some of them need is imported there."""
