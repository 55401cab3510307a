"""Commands that studies add. Each command has a module."""
