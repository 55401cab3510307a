"""Writes the verdicts of `--fail-if` as JUnit XML, which continuous integration services show as a
list of tests.

A compared quantity that exceeds its threshold is a failure. An undecided compared quantity is an
error. Continuous integration services show failures and errors in red.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from tailback.base.foreign import line
from tailback.comparison.gate import Gate, Verdict
from tailback.comparison.model import Comparison
from tailback.store import layout


def write(comparison: Comparison, gate: Gate | None, broken: Sequence[str], target: Path) -> None:
    """Write the file with the gate's verdicts, failed assertions, and failed runs."""
    verdicts = gate.verdicts if gate else []
    suite = ElementTree.Element("testsuite", name=line(comparison.title))
    for verdict in verdicts:
        _verdict(suite, verdict)
    for message in broken:
        _case(suite, "assertions", message, ("failure", "assertion", message))
    for message in comparison.failures:
        _case(suite, "runs", message, ("error", "run failed", message))
    if not len(suite):
        runs = sum(len(variant.results) for variant in comparison.variants)
        _case(suite, "runs", f"{runs} runs", None)
    failures, errors = (len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error"))
    counts = {"tests": str(len(suite)), "failures": str(failures), "errors": str(errors)}
    suite.attrib.update(counts)
    root = ElementTree.Element("testsuites", {"name": "tailback compare", **counts})
    root.append(suite)
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    with layout.replacing(target) as place:
        tree.write(place, encoding="utf-8", xml_declaration=True)


def _verdict(suite: ElementTree.Element, verdict: Verdict) -> None:
    fault = {
        "exceeds": ("failure", "exceeds", verdict.text()),
        "unknown": ("error", "cannot tell", verdict.text()),
        "holds": None,
    }[verdict.answer]
    name = f"{verdict.where()} within {verdict.threshold.text}"
    case = _case(suite, f"{verdict.variant} against {verdict.baseline}", name, fault)
    if fault is None:
        ElementTree.SubElement(case, "system-out").text = line(verdict.text())


def _case(
    suite: ElementTree.Element, group: str, name: str, fault: tuple[str, str, str] | None
) -> ElementTree.Element:
    # Names come from untrusted files. Characters that XML does not allow are escaped in the same
    # way as on a terminal.
    case = ElementTree.SubElement(suite, "testcase", classname=line(group), name=line(name))
    if fault is not None:
        tag, kind, message = fault
        ElementTree.SubElement(case, tag, type=kind, message=line(message)).text = line(message)
    return case
