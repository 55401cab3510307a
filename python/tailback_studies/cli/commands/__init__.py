"""Commands that studies add, a module each."""
