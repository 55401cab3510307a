"""The sections of the report: figures of the paper, and additional parts."""
