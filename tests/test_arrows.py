"""Checks the direction of imports. No two folders of the package may import each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import rust_modules
from rust_modules import RustPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "tailback"
STUDIES = ROOT / "python" / "tailback_studies"
CRATES = ROOT / "crates"

Graph = Mapping[str, set[str]]


def circles(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components of a graph."""
    reach = {node: _reached(graph, node) for node in graph}
    groups = {
        tuple(sorted({a} | {b for b in reach[a] if a in reach.get(b, ())}))
        for a in graph
        if a in reach[a]
    }
    return [list(group) for group in sorted(groups)]


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    open_ = [start]
    while open_:
        for node in graph.get(open_.pop(), ()):
            if node not in found:
                found.add(node)
                open_.append(node)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == [["a", "b"]]


def _modules(package: Path = PACKAGE) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        name = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def _imports(module: ast.Module, known: Iterable[str], package: Path = PACKAGE) -> Iterator[str]:
    """Return a module's imports from a package. Include imports inside functions, but not imports
    for type checkers."""
    known = set(known)
    skipped = {
        id(inner)
        for node in ast.walk(module)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(module):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            inside = name.removeprefix(f"{package.name}.")
            if inside != name and inside in known:
                yield inside


def python_graph(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return the imports of each folder of a package, and of each module outside folders."""
    modules = dict(_modules(package))
    known = set(modules)

    def room(name: str) -> str:
        return name.partition(".")[0]

    graph: dict[str, set[str]] = {room(name): set() for name in known if name}
    for name, module in modules.items():
        # The package's own `__init__` and `__main__` may import everything in the package.
        if name in ("", "__init__", "__main__"):
            continue
        others = {room(other) for other in _imports(module, known, package)}
        graph[room(name)] |= others - {room(name)}
    return graph


OFFERED = {
    "comparison": {"report"},
    "store": {"evaluate", "explain", "plot", "report", "running"},
}
"""Imports that are allowed inside methods of lower folders.

The allowed imports are for reports of a comparison, and for figures, reports, explanations and
evaluations of results. One import is for comparing the versions in results with the installed
engines.
"""


def test_no_folder_of_the_package_imports_itself_through_others() -> None:
    graph = {room: named - OFFERED.get(room, set()) for room, named in python_graph().items()}
    assert circles(graph) == []


def test_no_folder_of_the_studies_imports_itself_through_others() -> None:
    assert circles(python_graph(STUDIES)) == []


OFFERED_FILES = {
    "comparison.model": {"comparison.gate", "comparison.notebook", "report.comparison"},
    "evaluate.model": {"evaluate.report", "evaluate.text"},
    "store.results": {"evaluate.model", "evaluate.of_results", "report.sweep"},
}
"""The allowed imports by file. These modules make reports of comparisons, evaluations and results,
or evaluate the algorithm of stored results."""


def file_graph(package: Path) -> dict[str, set[str]]:
    """Return the imports of each file of a package. An import of a package counts only if it uses
    names of the package itself, not of its modules."""
    modules = dict(_modules(package))
    graph: dict[str, set[str]] = {}
    for name, module in modules.items():
        if name in ("", "__init__", "__main__"):
            continue
        imported = set(_imports(module, modules, package))
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = node.module.removeprefix(f"{package.name}.")
                if all(f"{inside}.{alias.name}" in modules for alias in node.names):
                    imported.discard(inside)
        graph[name] = imported - {name} - OFFERED_FILES.get(name, set())
    return graph


@pytest.mark.parametrize("package", [PACKAGE, STUDIES], ids=["core", "studies"])
def test_no_file_imports_itself_through_others(package: Path) -> None:
    assert circles(file_graph(package)) == []


def test_the_core_has_about_twenty_rooms() -> None:
    rooms = {name.partition(".")[0] for name, _ in _modules()} - {"", "__init__", "__main__"}
    assert len(rooms) <= 22


@pytest.mark.parametrize("package", [PACKAGE, STUDIES], ids=["core", "studies"])
def test_no_two_public_classes_share_a_name(package: Path) -> None:
    owners: dict[str, list[str]] = {}
    for name, module in _modules(package):
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(name)
    assert {name: modules for name, modules in owners.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("package", [PACKAGE, STUDIES], ids=["core", "studies"])
def test_no_function_is_longer_than_a_hundred_lines(package: Path) -> None:
    lengths = {
        f"{name}.{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for name, module in _modules(package)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > 100} == {}


def test_the_core_names_no_study() -> None:
    studies = dict(_modules(STUDIES))
    named = {name: sorted(set(_imports(module, studies, STUDIES))) for name, module in _modules()}
    assert {name: imports for name, imports in named.items() if imports} == {}


def test_studies_use_the_modules_of_the_core_that_the_page_lists() -> None:
    page = (ROOT / "docs" / "contributing" / "studies.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `tailback\.([a-z_.]+)` \|", page, flags=re.M))
    core = set(dict(_modules()))
    used = {imported for _, module in _modules(STUDIES) for imported in _imports(module, core)}
    # If the page lists modules of a package, it does not have to list the package itself.
    packages = {name for name in used if any(other.startswith(f"{name}.") for other in core)}
    assert listed - core == set()
    assert used - packages - listed == set()
    assert listed - used == set()


def _folders(crate: Path) -> list[tuple[Path, RustPath]]:
    return [(crate, folder) for folder in rust_modules.folders(rust_modules.modules(crate / "src"))]


RUST_FOLDERS = [
    (crate, folder)
    for source in sorted(CRATES.glob("*/src"))
    for crate, folder in _folders(source.parent)
]
"""Every folder of every crate, with the root of each crate's sources first."""


@pytest.mark.parametrize(
    ("crate", "folder"),
    RUST_FOLDERS,
    ids=["/".join((crate.name, *folder)) for crate, folder in RUST_FOLDERS],
)
def test_the_modules_of_a_folder_do_not_name_one_another_in_circles(
    crate: Path, folder: RustPath
) -> None:
    assert circles(rust_modules.graph(rust_modules.modules(crate / "src"), folder)) == []


def test_every_folder_of_the_crates_is_looked_at() -> None:
    directories = {
        (source.parent.name, path.parent.relative_to(source).parts)
        for source in CRATES.glob("*/src")
        for path in rust_modules.sources(source)
        if path.name not in ("lib.rs", "main.rs", "mod.rs")
    }
    assert {(crate.name, folder) for crate, folder in RUST_FOLDERS} == directories


def test_use_declarations_are_expanded() -> None:
    text = "super::{a::{self, b as c}, super::d::*, e}"
    assert list(rust_modules.use_tree(text)) == [
        (("super", "a"), "a"),
        (("super", "a", "b"), "c"),
        (("super", "super", "d", "*"), "*"),
        (("super", "e"), "e"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "use super::b;",
        "use super::b::{self, Thing};",
        "use super::{c::Other, b::Thing};",
        "use crate::f::b::Thing;",
        "use crate::{x, f::{b, g}};",
        "fn f() -> crate::f::b::Thing { todo!() }",
        "fn f() { super::b::call(); }",
        "fn f() { self::super::b::call(); }",
        "macro_rules! m { () => { $crate::f::b::call() } }",
        # The module reaches `Handed` through a re-export in the folder's root.
        "use super::Handed;",
        "use super::*; fn f(_: Handed) {}",
    ],
)
def test_an_arrow_is_seen_however_it_is_written(text: str, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    sources = {"lib": "mod f; mod x;", "x": "", "f/mod": "mod a; mod b; mod c; use b::Handed;"}
    for name, source in {**sources, "f/a": text, "f/b": "", "f/c": ""}.items():
        (tmp_path / f"{name}.rs").write_text(source, encoding="utf-8")
    graph = rust_modules.graph(rust_modules.modules(tmp_path), ("f",))
    assert "b" in graph["a"]
    assert graph["b"] == set()


@pytest.mark.parametrize(
    "text",
    [
        "// use super::b;",
        "use b::Thing;",
        "use super::super::b;",
        "#[cfg(test)]\nmod tests {\nsuper::b",
    ],
)
def test_what_is_no_arrow_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    for name, source in {"lib": "mod f;", "f/mod": "", "f/a": text, "f/b": ""}.items():
        (tmp_path / f"{name}.rs").write_text(source, encoding="utf-8")
    assert rust_modules.graph(rust_modules.modules(tmp_path), ("f",)) == {"a": set(), "b": set()}


def test_the_rooms_that_the_architecture_names_are_there() -> None:
    page = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
    rust, _, rest = page.partition("## Code map, in Python")
    python, _, rest = rest.partition("## Code map, in TypeScript")
    typescript, _, studies = rest.partition("## Studies, in Python")
    parts = ((rust, CRATES), (python, PACKAGE), (typescript, ROOT / "web"), (studies, STUDIES))
    missing = []
    for part, base in parts:
        for row in re.findall(r"^\|[^|]*\|([^|]*)\|$", part, flags=re.M):
            folder = base
            for name in re.findall(r"`([a-z_/]+(?:\.[a-z]+)?)`", row):
                places = [
                    at / (name + end)
                    for at in (base, folder, folder.parent, ROOT)
                    for end in ("", ".rs", ".py")
                ]
                found = next((place for place in places if place.exists()), None)
                if found is None:
                    missing.append(name)
                elif "/" in name:
                    folder = found if found.is_dir() else found.parent
    assert missing == []
