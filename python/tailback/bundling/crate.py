"""The metadata of a bundle, as RO-Crate 1.1 (https://w3id.org/ro/crate/1.1).

This module does not use the package `rocrate`, because `rocrate` depends on an HTTP client and
eight more packages."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from typing import Any

from tailback.bundling.contents import ABOUT, COMMANDS, CRATE, FIGURE, LOCK, SCENARIO, AboutBundle

_KINDS = {".toml": "application/toml", ".parquet": "application/vnd.apache.parquet"}

_SAID = {
    SCENARIO: "the scenario",
    COMMANDS: "the commands that give these results",
    LOCK: "versions of the Python packages",
    ABOUT: "what was run, with the SHA-256 of every file",
    FIGURE: "the default figure of the sweep",
}

NO_LICENSE = "no license is stated"


def metadata(about: AboutBundle, sizes: Mapping[str, int], date: str, license_: str) -> bytes:
    engine = {
        "@id": f"#tailback-{about.engine}",
        "@type": "SoftwareApplication",
        "name": f"tailback, engine {about.engine}",
        "softwareVersion": about.engine_version,
    }
    results = [name for name in sizes if name.startswith("results/") or name == FIGURE]
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"tailback run {SCENARIO}",
        "instrument": {"@id": engine["@id"]},
        "object": [{"@id": SCENARIO}],
        "result": [{"@id": name} for name in results],
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": about.title or about.sweep,
        "description": f"A scenario of tailback and its results: sweep {about.sweep}.",
        "datePublished": date,
        "license": license_,
        "hasPart": [{"@id": name} for name in sizes],
        "mentions": [{"@id": "#run"}],
    }
    descriptor = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    files = [_file(name, size, about) for name, size in sizes.items()]
    graph = [descriptor, root, engine, run, *files]
    document = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    return (json.dumps(document, indent=1) + "\n").encode()


def _file(name: str, size: int, about: AboutBundle) -> dict[str, Any]:
    ending = name[name.rfind(".") :] if "." in name else ""
    kind = _KINDS.get(ending) or mimetypes.types_map.get(ending) or "application/octet-stream"
    entity: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": name.rpartition("/")[2],
        "contentSize": str(size),
        "encodingFormat": kind,
    }
    if name in _SAID:
        entity["description"] = _SAID[name]
    if name in about.files:
        entity["sha256"] = about.files[name]
    return entity
