"""One module for each command. `cli.main` registers the commands, and each module imports only what
its command needs."""
