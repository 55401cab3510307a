//! The summary of a run: the object that `--json` prints for a point.
