"""Sections of the report, one file each."""
