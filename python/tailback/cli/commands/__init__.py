"""One module for each command. `cli.main` registers the commands, and each module imports only the
modules that its command needs."""
