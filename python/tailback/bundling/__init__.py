"""Makes and verifies bundles. A bundle is one file for a paper or a review. A bundle contains a
scenario, its results, and the commands and versions that made the results.

    tailback.bundle("scenario.toml", "bundle.zip")
    tailback.verify_bundle("bundle.zip").same

| module | what it does |
|---|---|
| `contents` | defines which files a bundle has, and their paths |
| `crate` | writes the metadata of a bundle as RO-Crate 1.1 |
| `writing` | runs a scenario and writes the bundle |
| `checking` | runs a bundle again and compares the bytes |
"""

from tailback.bundling.checking import CheckedBundle, verify_bundle
from tailback.bundling.writing import bundle

__all__ = ["CheckedBundle", "bundle", "verify_bundle"]
