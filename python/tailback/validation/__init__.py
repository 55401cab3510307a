"""The simulator against Linux, cell by cell: the command `tailback validate` and its page."""
