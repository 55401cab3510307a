"""Bundles: one file with a scenario, its results and how they were made, for a paper or review.

    tailback.bundle("scenario.toml", "bundle.zip")
    tailback.verify_bundle("bundle.zip").same

| module | what |
|---|---|
| `contents` | what a bundle has, and where |
| `crate` | its metadata, as RO-Crate 1.1 |
| `writing` | runs a scenario and writes the bundle |
| `checking` | runs it again and compares the bytes |
"""

from tailback.bundling.checking import CheckedBundle, verify_bundle
from tailback.bundling.writing import bundle

__all__ = ["CheckedBundle", "bundle", "verify_bundle"]
