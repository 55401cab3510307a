"""Commands that studies add. Each command has its own module."""
