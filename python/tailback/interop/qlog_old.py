"""Exports a run as JSON of qlog 0.3, one file for each flow: format `qlog-0.3`."""

from tailback.interop.qlog import OLD, Qlog

FORMAT = Qlog(OLD, ".qlog")
