"""Loads copies of `tailback._native` that were compiled with plugins. Each copy is loaded only
once.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tailback import _native
from tailback.base import terminal
from tailback.errors import InputError, InputErrors, TailbackError

if TYPE_CHECKING:
    from tailback.plugins.crate import Crate

_LOADED: dict[str, ModuleType] = {}
_OF: dict[type, ModuleType] = {}
"""The loaded copies, keyed by the class `Scenario` that each copy defines."""

_LOCK = threading.Lock()


def native_of(scenario: object) -> ModuleType:
    """Return the compiled module that has read a scenario. Only objects of the returned module work
    with the scenario.
    """
    return _OF.get(type(scenario), _native)


def native(folders: Iterable[Path]) -> ModuleType:
    """Return the compiled module with the plugins in these folders, built if necessary."""
    folders = list(folders)
    if not folders:
        return _native
    # Import `crate` and `workspace` only when a plugin may have to be compiled.
    from tailback.plugins import crate, workspace

    crates = crate.read_all(folders)
    if not crates:
        return _native
    name = workspace.key(crates)
    with _LOCK:
        if name not in _LOADED:
            path = workspace.copy_of(crates)
            if not path.exists():
                build(crates)
            copy = _load(name, path, crates)
            _LOADED[name] = copy
            _OF[copy.Scenario] = copy
        return _LOADED[name]


def build(crates: Sequence[Crate]) -> Path:
    """Compile the module with these plugins."""
    names = ", ".join(crate.name for crate in crates)
    terminal.note(f"compiling {names} with the engine")
    from tailback.plugins import workspace

    begun = time.monotonic()
    path = workspace.build(crates)
    terminal.note(f"compiled in {time.monotonic() - begun:.0f} s")
    return path


def entries(copy: ModuleType) -> dict[str, list[dict[str, Any]]]:
    """Return the entries that a copy registers in addition to `tailback._native`, by registry."""
    own, shipped = (json.loads(one.registry_json()) for one in (copy, _native))
    return {
        kind: [one for one in own[kind] if one not in shipped[kind]]
        for kind in ("cc", "aqm", "traffic", "stacks")
    }


def _load(name: str, path: Path, crates: Sequence[Crate]) -> ModuleType:
    # Python derives the name of the module's init function from the last part of the module's name.
    full = f"tailback.plugins.copy_{name}._native"
    loader = ExtensionFileLoader(full, str(path))
    spec = importlib.util.spec_from_file_location(full, path, loader=loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except InputError as error:
        places = {crate.name: crate.shown for crate in crates}
        lines = placed(str(error)).splitlines()
        raise InputErrors(*(_by_folder(line, places) for line in lines)) from None
    except ImportError as error:
        path.unlink(missing_ok=True)
        raise InputError(
            f"{path} cannot be loaded ({error}); run the command again: that compiles it again"
        ) from None
    from tailback.store.versions import engine_of

    if engine_of(module.engine_version()) != _native.engine_version():
        path.unlink(missing_ok=True)
        raise TailbackError("the engine's sources are not those that were built; run: make build")
    sys.modules[full] = module
    return module


def placed(text: str) -> str:
    """Return a message of a copy, with paths in the workspace replaced by the folders of
    plugins."""
    return _IN_WORKSPACE.sub(r"\1/", text)


_IN_WORKSPACE = re.compile(r"\bmine/([\w-]+)/")


def _by_folder(line: str, places: dict[str, str]) -> str:
    """Replace a plugin's name at the beginning of a line by its folder."""
    name, _, rest = line.partition(": ")
    return f"{places[name]}: {rest}" if name in places else line
