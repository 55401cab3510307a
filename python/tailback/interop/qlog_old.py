"""Exports a run in the format `qlog-0.3`, as one JSON file for each flow."""

from tailback.interop.qlog import OLD, Qlog

FORMAT = Qlog(OLD, ".qlog")
