"""The sections of the report. Each has a module."""
