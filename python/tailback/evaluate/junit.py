"""Writes an evaluation as JUnit XML, with a test for each section.

A section with the verdict `fail` or `worse` is a failed test. A section that is undecided or not
observable is a skipped test.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tailback.base.foreign import line
from tailback.evaluate.model import BAD, Evaluation, SectionResult
from tailback.evaluate.text import sentence
from tailback.store import layout


def write(evaluation: Evaluation, target: Path) -> None:
    name = line(f"evaluate {evaluation.suite} {evaluation.subject}")
    suite = ElementTree.Element("testsuite", name=name)
    for section in evaluation.sections:
        _case(suite, evaluation, section)
    counts = {
        "tests": str(len(suite)),
        "failures": str(len(suite.findall("testcase/failure"))),
        "skipped": str(len(suite.findall("testcase/skipped"))),
    }
    suite.attrib.update(counts)
    root = ElementTree.Element("testsuites", {"name": "tailback evaluate", **counts})
    root.append(suite)
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    with layout.replacing(target) as place:
        tree.write(place, encoding="utf-8", xml_declaration=True)


def _case(suite: ElementTree.Element, evaluation: Evaluation, section: SectionResult) -> None:
    # The tested algorithm's name may come from a plugin, so escape control characters, which XML
    # does not allow.
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=line(f"{evaluation.suite}.{evaluation.subject}"),
        name=line(f"{section.id} {section.title}"),
    )
    text = line(sentence(section))
    if section.verdict in BAD:
        fault = ElementTree.SubElement(case, "failure", type=section.verdict, message=text)
        fault.text = text
    elif section.verdict in ("undecided", "not observable"):
        ElementTree.SubElement(case, "skipped", message=text)
    else:
        ElementTree.SubElement(case, "system-out").text = text
