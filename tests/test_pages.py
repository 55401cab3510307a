"""Tests HTML pages with untrusted names. Names must appear as text, never as markup."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from conftest import SCENARIO
from tailback.evaluate import report as evaluation_report
from tailback.evaluate.model import VERDICTS, Evaluation, SectionResult
from tailback.figures.time_series import time_series
from tailback.report import (
    Column,
    Facts,
    Mark,
    Report,
    ReportFigure,
    Section,
    Table,
    Text,
    Value,
    to_markdown,
    write,
)
from tailback.report.text import code, inline_html, pieces, plain

NASTY = [
    "<script>document.title = 'owned'</script>",
    "</script><script>document.title = 'owned'</script>",
    "[x](javascript:document.title='owned')",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd) [x](//example.org) [x](JaVaScRiPt:1)",
    '"><img src=x onerror="document.title = \'owned\'">',
    "<svg onload=document.title='owned'>",
    "<a href=javascript:alert(1)>x</a> <javascript:alert(1)>",
    '#import "evil.typ"',
    '#read("/etc/passwd")',
    "datum.x + (document.title = 'owned')",
    '" + toString(this) + "\\',
    "{signal: 'owned'} {expr: 'owned'} ${owned} {{ owned }}",
    "`code` **bold** ![i](https://example.org/x.png) \\[x](javascript:1)",
    "two\n\n# lines\n\n<script>document.title = 'owned'</script>",
    "a terminal's \x1b[31m\x00\x9b, hidden \u202e\u200b\uffff",
]


TOGETHER = 4
"""The number of names in one figure. A figure contains several names because drawing takes a long
time."""


class Page(HTMLParser):
    """Collects the elements, links and scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.metas: list[dict[str, str | None]] = []
        self.scripts: list[str] = []
        self._script: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.attributes |= set(found)
        for name in ("href", "src", "action", "xlink:href"):
            if name in found:
                self.links.add(found[name] or "")
        if tag == "meta":
            self.metas.append(found)
        if tag == "script" and found.get("type") != "application/json":
            self._script = []

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            self.scripts.append("".join(self._script))
            self._script = None


def chart(name: str) -> Any:
    frame = pl.DataFrame(
        {
            "time_s": [0.0, 1.0, 2.0] * 2,
            "variant": [name] * 3 + [f"{name} 2"] * 3,
            "value": [1.0, 2.0, 3.0, 2.0, 1.0, 2.0],
        }
    )
    drawn = time_series(
        frame, y_title=name, order=[name, f"{name} 2"], series="variant", series_title=name
    )
    return drawn.properties(title=name)


def nasty_report(names: list[str]) -> Report:
    """Return a report with an untrusted name in every place that takes a name."""
    sections = []
    for i, name in enumerate(names):
        facts = Facts(runs=1, engine=name, options=[name], deviations=[name], duration=name)
        columns = [Column(name, align="left", unit=name), Column("words", words=True)]
        rows: list[list[Value]] = [
            [name, f"{plain(name)} {code(name)}"],
            [Mark(name, "info"), None],
        ]
        blocks: list[Text | ReportFigure | Table] = [
            Text(f"**{plain(name)}**: {plain(name)}, {code(name)}"),
            Table(f"table-{i}", name, columns, rows, plain(name), facts),
        ]
        if i % TOGETHER == 0:
            several = " ".join(names[i : i + TOGETHER])
            blocks.append(
                ReportFigure(f"figure-{i}", several, chart(several), plain(several), facts)
            )
        sections.append(Section(f"s{i}", name, blocks))
    last = Section("end", "End", [Text("[out](https://example.org/a?b=1&c=2) and [up](#s0)")])
    return Report(
        name="nasty",
        title=" ".join(names),
        lead=plain(" ".join(names)),
        meta=[(name, name) for name in names],
        sections=[*sections, last],
    )


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report with untrusted names, and return its folder."""
    return write(nasty_report(NASTY), tmp_path_factory.mktemp("pages") / "nasty", pdf=True).parent


def policy_of(page: Page) -> dict[str, str]:
    """Return the values of the page's content security policy, by directive."""
    [policy] = [m["content"] for m in page.metas if m.get("http-equiv")]
    assert policy is not None
    return dict(part.strip().split(" ", 1) for part in policy.split(";"))


def checked(text: str) -> Page:
    """Check that a page runs only tailback's scripts and that all its links are safe."""
    page = Page(text)
    # A link to the laboratory contains the compressed scenario after `#`.
    safe = r"https?://|#|lab\.html#s=[\w-]+$"
    assert all(re.match(safe, link) for link in page.links), page.links
    assert not {name for name in page.attributes if name.startswith("on") or name == "style"}
    assert not page.tags & {"img", "svg", "iframe", "object", "embed", "base", "form", "link"}
    policy = policy_of(page)
    assert policy["default-src"] == "'none'"
    assert "connect-src" not in policy
    assert "unsafe" not in policy["script-src"]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'"
        for s in page.scripts
    ]
    assert policy["script-src"].split() == (hashes or ["'none'"])
    # A browser normalises line breaks, so a script with `\r` would not match its hash.
    assert not any("\r" in script for script in page.scripts)
    return page


def test_names_are_letters_in_a_page(nasty: Path) -> None:
    page = checked((nasty / "index.html").read_text(encoding="utf-8"))
    # The three scripts are the library, the code that draws figures and the code that sorts tables.
    assert len(page.scripts) == 3
    own = {f"#s{i}" for i in range(len(NASTY))} | {"#end", "https://example.org/a?b=1&c=2"}
    assert page.links == own
    for file in (nasty / "figures").glob("*.svg"):
        drawn = Page(file.read_text(encoding="utf-8"))
        assert not drawn.tags & {"script", "a", "image", "foreignobject"}
        assert not {name for name in drawn.attributes if name.startswith("on")}


def test_names_are_letters_in_markdown(nasty: Path) -> None:
    text = (nasty / "report.md").read_text(encoding="utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    # Remove code and characters after a backslash, because Markdown shows both literally.
    bare = re.sub(r"\\\\|\\[`*\[\]<]|`[^`\n]*`", "", text)
    assert "<" not in bare
    links = re.findall(r"\]\(([^)]*)\)", bare)
    figures = {f"figures/figure-{i}.svg" for i in range(0, len(NASTY), TOGETHER)}
    assert set(links) == figures | {"https://example.org/a?b=1&c=2", "#s0"}
    # The only headings are the title and the sections of the report.
    assert len(re.findall(r"^#+ ", bare, re.MULTILINE)) == 1 + len(NASTY) + 1


def test_names_are_letters_in_pdf(nasty: Path) -> None:
    data = (nasty / "report.pdf").read_bytes()
    parts = [data]
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            parts.append(zlib.decompress(match[1]))
        except zlib.error:
            continue
    whole = b"".join(parts)
    links = set(re.findall(rb"/URI ?\(([^)]*)\)", whole))
    assert links == {b"https://example.org/a?b=1&c=2", b"#s0"}
    assert not re.search(rb"/(JavaScript|JS|Launch|EmbeddedFile|OpenAction)\b", whole)


def test_our_words_and_data() -> None:
    assert pieces("a `b` **c** [d](https://e)") == [
        ["text", "a "],
        ["code", "b"],
        ["text", " "],
        ["bold", "c"],
        ["text", " "],
        ["link", "d", "https://e"],
    ]
    for name in NASTY:
        assert {kind for kind, *_ in pieces(plain(name))} == {"text"}
        assert [kind for kind, *_ in pieces(code(name))] == ["code"]
        assert "<a" not in inline_html(plain(name))
    for target in ("javascript:x", "data:x", "JAVASCRIPT:x", "file:///x", "//x", "x", "/x"):
        assert pieces(f"[w]({target})") == [["text", "w"]]
    assert plain("a\\b") == "a\\\\b"
    assert pieces(plain("a\\[b\\")) == [["text", "a\\[b\\"]]


def test_a_figure_names_a_file_of_its_folder() -> None:
    for name in ("../up", "a/b", ".hidden", "", "a b", "x\x00", "\u00e9"):
        with pytest.raises(ValueError, match="cannot name"):
            ReportFigure(name, "t", None, "")


def test_pages_of_stored_sweeps_and_comparisons(tmp_path: Path) -> None:
    """Titles, labels and citations of a foreign results folder are untrusted."""
    out = tmp_path / "results"
    tb.run(SCENARIO, set={"sweep": {"path.rtt": ["10ms", "20ms"]}}, out=out)
    name = " ".join(NASTY[:13])
    made = tb.compare(
        SCENARIO,
        {"a": {}, name: {"bottleneck.queue": "fifo"}, f"{name} 2": {"path.rtt": "30ms"}},
        metrics=["throughput_mbit"],
        seeds=2,
        out=out,
    )
    report = made.report(tmp_path / "page")
    checked(report.read_text(encoding="utf-8"))
    assert "javascript:" in (tmp_path / "page" / "report.md").read_text(encoding="utf-8")
    folder = tb.open_results(out)
    assert not Page(made._repr_html_()).attributes
    nasty = type(folder)(**{**vars(folder), "title": name, "engine": name, "version": name})
    html = nasty._repr_html_()
    page = Page(html)
    assert page.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert not page.attributes
    from tailback.report import sweep

    for run in nasty.points:
        object.__setattr__(run, "labels", dict.fromkeys(run.labels, name))
        run.manifest["follows"] = {name: name}
        run.summary["flows"][0]["name"] = name
    checked(write(sweep.of(nasty), tmp_path / "sweep").read_text(encoding="utf-8"))
    assert "\\[x\\](javascript" in to_markdown(sweep.of(nasty))


def drawn(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in Chromium. The output is the document with its figures."""
    return subprocess.run(
        [
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=20000",
            "--dump-dom",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
@pytest.mark.parametrize(("width", "slanted"), [(400, True), (1200, False)])
def test_names_of_columns_do_not_overlap(tmp_path: Path, width: int, slanted: bool) -> None:
    """On a narrow page, the names of the verdicts are slanted but not smaller."""
    names = ["pass", "no worse", "undecided", "not observable", "worse", "fail"]
    sections = [
        SectionResult(f"5.{i}", "A title of many words", "RFC", verdict, "", None, None, None, "")
        for i, verdict in enumerate(VERDICTS)
    ]
    evaluation = Evaluation("cc", "x", "sim", "1", tuple(sections))
    page = write(evaluation_report.of(evaluation), tmp_path / "page")
    text = drawn(page, tmp_path / "profile", f"--window-size={width},900").stdout
    shown = re.findall(r"<text ([^>]*)>([^<]*)</text>", text)
    columns = {name: attributes for attributes, name in shown if name in names}
    assert sorted(columns) == sorted(names)
    assert {"rotate(315)" in attributes for attributes in columns.values()} == {slanted}
    [size] = re.findall(r'<svg[^>]*?class="marks"[^>]*?width="(\d+)', text)
    # If a figure were wider than the page, the browser would shrink the figure and its text.
    # Chromium's window is at least 500 pixels wide.
    assert int(size) <= max(width, 500)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_a_browser_draws_the_figures_and_runs_nothing_else(nasty: Path, tmp_path: Path) -> None:
    done = drawn(nasty / "index.html", tmp_path)
    # The browser's console would show errors of scripts, and violations of the content security
    # policy.
    assert "CONSOLE" not in done.stderr
    page = Page(done.stdout)
    assert done.stdout.count('class="marks"') == len(NASTY) // TOGETHER
    assert "could not be drawn: " not in re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None
    assert title[1] != "owned"
    # Vega adds links to the menu of a figure only when a user opens the menu.
    assert all(re.match(r"https?://|#$|#s|#end", link) for link in page.links), page.links
