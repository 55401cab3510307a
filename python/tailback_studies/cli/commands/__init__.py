"""Commands that studies add. Each has a module."""
