"""Makes and tests mutants of Python sources with cosmic-ray."""

from __future__ import annotations

import ast
import json
import os
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mutants.sample import CAUGHT, MISSED, ROOT, TIMEOUT, UNVIABLE, WORK, Mutant, copy_tree

VERSION = "8.7.0"
TREE = WORK / "python"
TOOLS = WORK.parent / "tools" / "cosmic-ray"
"""A separate environment, so that cosmic-ray's dependencies do not affect ours."""

SOURCES = "python/tailback/metrics"
REPLACEMENTS = (
    *("Add_Sub", "Add_Mul", "Sub_Add", "Sub_Div", "Mul_Div", "Mul_Add", "Div_Mul", "Div_Sub"),
    *("FloorDiv_Div", "FloorDiv_Mul", "Mod_Div", "Pow_Mul", "BitAnd_BitOr", "BitOr_BitAnd"),
    *("Eq_NotEq", "Eq_GtE", "Eq_LtE", "NotEq_Eq", "NotEq_Gt", "NotEq_Lt", "Is_IsNot", "IsNot_Is"),
    *("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt"),
    *("Delete_Not", "Delete_USub"),
)
"""The kinds of operators that mutants exchange. cargo-mutants exchanges the same operators.
cosmic-ray has many other exchanges, but most of them make an expression that fails for every
value."""

MEMORY = 8 << 30

_SESSION = WORK / "metrics.sqlite"
_CONFIG = WORK / "metrics.toml"
_PRISTINE = WORK / "metrics"
"""A copy of the sources without mutants."""


def mutants() -> tuple[list[Mutant], int]:
    """Return all mutants of the modules that compute metrics. The second result is the number of
    mutants that were left out, which is 0.

    Mutants of annotations are not included, because annotations are never evaluated.
    """
    copy_tree(TREE)
    shutil.copytree(TREE / SOURCES, _PRISTINE, dirs_exist_ok=True)
    _configure(timeout=60.0)
    _SESSION.unlink(missing_ok=True)
    _cosmic_ray("init", str(_CONFIG), str(_SESSION))
    annotations = {path.name: _annotations(path) for path in sorted((TREE / SOURCES).glob("*.py"))}
    rows = _query(
        "SELECT job_id, module_path, operator_name, start_pos_row, start_pos_col"
        " FROM mutation_specs ORDER BY module_path, operator_name, occurrence"
    )
    found = []
    # cosmic-ray may change the same place in several ways, so number the mutants of a place.
    ways: Counter[tuple[Any, ...]] = Counter()
    for job, path, operator, row, column in rows:
        if any(first <= (row, column) < last for first, last in annotations[Path(path).name]):
            continue
        if "Operator_" in operator and operator.partition("Operator_")[2] not in REPLACEMENTS:
            continue
        ways[path, operator, row, column] += 1
        line = (TREE / path).read_text().splitlines()[row - 1].strip()
        change = f"{operator.removeprefix('core/')} {ways[path, operator, row, column]}"
        found.append(Mutant(job, path, row, column + 1, change, line))
    return found, 0


def test(tried: Sequence[Mutant]) -> None:
    """Run the tests on each mutant."""
    begun = time.monotonic()
    done = subprocess.run(shlex.split(_command()), cwd=TREE, env=_environment())
    if done.returncode:
        sys.exit("mutants: the tests of the metrics fail without a mutant")
    _configure(timeout=60.0 + 5 * (time.monotonic() - begun))
    ids = {mutant.key for mutant in tried}
    with sqlite3.connect(_SESSION) as session:
        for table in ("mutation_specs", "work_items"):
            listed = session.execute(f"SELECT job_id FROM {table}").fetchall()
            gone = [row for row in listed if row[0] not in ids]
            session.executemany(f"DELETE FROM {table} WHERE job_id = ?", gone)
        session.execute("DELETE FROM work_results")
    print(f"{SOURCES}: {len(tried)} mutants", file=sys.stderr, flush=True)
    _cosmic_ray("exec", str(_CONFIG), str(_SESSION))
    results = {
        job: (outcome, output)
        for job, outcome, output in _query("SELECT job_id, test_outcome, output FROM work_results")
    }
    for mutant in tried:
        outcome, output = results[mutant.key]
        if outcome == "KILLED":
            mutant.outcome = TIMEOUT if output == "timeout" else CAUGHT
        else:
            mutant.outcome = MISSED if outcome == "SURVIVED" else UNVIABLE


def _annotations(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the positions at which the annotations of a file begin and end."""

    def of(node: ast.AST) -> Iterator[ast.expr | None]:
        if isinstance(node, ast.FunctionDef):
            yield node.returns
        elif isinstance(node, ast.arg | ast.AnnAssign):
            yield node.annotation

    tree = ast.parse(path.read_text())
    every = [found for node in ast.walk(tree) for found in of(node) if found is not None]
    return [((a.lineno, a.col_offset), (a.end_lineno, a.end_col_offset)) for a in every]  # type: ignore[misc]


def _configure(*, timeout: float) -> None:
    _CONFIG.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(SOURCES)}\n"
        f"timeout = {timeout}\n"
        "excluded-modules = []\n"
        f"test-command = {json.dumps(_command())}\n"
        '[cosmic-ray.distributor]\nname = "local"\n'
    )


def _command() -> str:
    python, meet = ROOT / ".venv" / "bin" / "python", Path(__file__).with_name("meet.py")
    return shlex.join([str(python), str(meet), str(_PRISTINE)])


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(TREE / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _query(text: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(_SESSION) as session:
        return session.execute(text).fetchall()


def _cosmic_ray(*arguments: str) -> None:
    program = TOOLS / "bin" / "cosmic-ray"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(TOOLS)], check=True)
        pip = [str(TOOLS / "bin" / "pip"), "install", "--quiet", f"cosmic-ray=={VERSION}"]
        subprocess.run(pip, check=True)
    done = subprocess.run(
        [str(program), *arguments],
        cwd=TREE,
        env=_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )
    if done.returncode:
        sys.exit(f"mutants: cosmic-ray {arguments[0]}: status {done.returncode}")
