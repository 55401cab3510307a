"""Sections of the report: figures of the paper, and what goes beyond it."""
