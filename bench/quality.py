"""How well PDFs and web pages are read, compared with other tools on the same documents, whose content is known.

    python bench/quality.py [--each 3] [--only inorder kreuzberg] [--json]
    python bench/quality.py --folder DIR... [--part aside] [--only inorder kreuzberg] [--json]
    python bench/quality.py --html [--each 3] [--json]
    python bench/quality.py --pages DIR [--part aside] [--json]

Documents of many kinds are generated with fixed content. With `--folder`, the documents are the files NAME.pdf of these
folders, each with its content in NAME.json: `reading/real_pdfs.py` makes such folders of public texts. Of these a third
is set aside by a hash of names, as of web pages. Scores are from 0 to 1; 1 is perfect:

* NID: normalised indel similarity of the text in reading order
* MHS: tree edit similarity of the headings, nested by their levels
* TEDS: tree edit similarity of the tables
* P, R, F1: precision, recall and their mean of pairs of neighbouring cells
* absent: share of the lines of page furniture that are left out of the text
* code: share of the lines of code that are in a code block

With `--html`, pages with an article, menus, comments and so on: precision, recall and F1 of the text of the article, in
runs of four words, beside trafilatura and readability-lxml.

With `--pages`, real pages of public repositories, which `reading/real_pages.py` names: the third that is set aside, or
the others (`--part seen`).

A tool that is not installed is left out. `make bench-peers` installs kreuzberg, liteparse, markitdown and
pdf-inspector; trafilatura and readability-lxml are on PyPI.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from reading.documents import Made
from reading.kinds import make_documents
from reading.pages import PAGE_TOOLS, compare_text, make_pages
from reading.real_pages import PageScores, read_real_pages
from reading.real_pdfs import is_aside
from reading.scores import (
    Content,
    absent_share,
    code_score,
    count_relations,
    heading_score,
    table_score,
    text_score,
)
from reading.tools import TOOLS

from inorder.errors import ReadError

MEASURES = ("NID", "MHS", "TEDS", "P", "R", "F1", "absent", "code")


class Scores(NamedTuple):
    """The scores of one document; None where the document has nothing of the kind."""

    text: float
    headings: float | None
    tables: float | None
    relations: tuple[int, int, int]
    absent: float | None
    code: float | None


def score(found: Content, given: Content) -> Scores:
    """All scores of a document."""
    return Scores(
        text_score(found, given),
        heading_score(found, given),
        table_score(found, given),
        count_relations(found, given),
        absent_share(found, given),
        code_score(found, given),
    )


def average(scores: list[Scores]) -> dict[str, float | None]:
    """The mean of each score over the documents that have one; relations are summed first."""
    found, given, right = (sum(each.relations[at] for each in scores) for at in range(3))
    precision = right / found if found else None
    recall = right / given if given else None
    return {
        "NID": _mean([each.text for each in scores]),
        "MHS": _mean([each.headings for each in scores]),
        "TEDS": _mean([each.tables for each in scores]),
        "P": precision if given else None,
        "R": recall,
        "F1": 2 * right / (found + given) if given else None,
        "absent": _mean([each.absent for each in scores]),
        "code": _mean([each.code for each in scores]),
    }


def _mean(numbers: list[Any]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None


def read_folder(folder: Path, part: str) -> list[Made]:
    """The documents of a part of a folder that have their content beside them."""
    return [
        Made(folder.name, path.read_bytes(), msgspec.json.decode(truth.read_bytes(), type=Content))
        for path in sorted(folder.glob("*.pdf"))
        if (truth := path.with_suffix(".json")).exists() and is_aside(path.stem) == (part == "aside")
    ]


def measure(documents: list[Made], tools: list[str]) -> dict[str, Any]:
    """The scores of each tool by kind of document, over all, and its CPU seconds."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "document.pdf"
        for tool in tools:
            by_kind: defaultdict[str, list[Scores]] = defaultdict(list)
            cpu_s = 0.0
            try:
                for made in documents:
                    path.write_bytes(made.data)
                    began_s = time.process_time()
                    content = TOOLS[tool](path)
                    cpu_s += time.process_time() - began_s
                    by_kind[made.kind].append(score(content, made.content))
            except ImportError as error:
                print(f"{tool} is left out: {error}", file=sys.stderr)
                continue
            found[tool] = {
                "all": average([each for scores in by_kind.values() for each in scores]),
                "kinds": {kind: average(scores) for kind, scores in by_kind.items()},
                "cpu_s": cpu_s,
            }
    return found


def measure_pages(each: int) -> dict[str, Any]:
    """Precision, recall and F1 of each tool by layout, and its CPU seconds."""
    pages = make_pages(each)
    found: dict[str, Any] = {}
    for tool, read in PAGE_TOOLS.items():
        by_layout: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
        cpu_s = 0.0
        try:
            for page in pages:
                began_s = time.process_time()
                text = read(page.html.encode())
                cpu_s += time.process_time() - began_s
                by_layout[page.layout].append(compare_text(text, page.article))
        except ImportError as error:
            print(f"{tool} is left out: {error}", file=sys.stderr)
            continue
        every = [scores for each_layout in by_layout.values() for scores in each_layout]
        found[tool] = {
            "all": [_mean(list(column)) for column in zip(*every, strict=True)],
            "F1": {layout: _mean([f1 for _, _, f1 in scores]) for layout, scores in by_layout.items()},
            "cpu_s": cpu_s,
        }
    return found


def measure_real_pages(folder: Path, part: str) -> dict[str, Any]:
    """Precision, recall and F1 of each tool by source, and its CPU seconds."""
    pages = [page for page in read_real_pages(folder) if page.is_aside == (part == "aside")]
    found: dict[str, Any] = {}
    for tool, read in PAGE_TOOLS.items():
        scores: defaultdict[str, PageScores] = defaultdict(PageScores)
        cpu_s = 0.0
        try:
            for page in pages:
                began_s = time.process_time()
                text = _read_or_nothing(read, page.html)
                cpu_s += time.process_time() - began_s
                scores[page.source].add(page, text)
        except ImportError as error:
            print(f"{tool} is left out: {error}", file=sys.stderr)
            continue
        found[tool] = {"cpu_s": cpu_s, **{source: each.sum_up() for source, each in scores.items()}}
    return {"pages": Counter(page.source for page in pages), "tools": found}


def _read_or_nothing(read: Callable[[bytes], str], page: bytes) -> str:
    try:
        return read(page)
    except (ReadError, ValueError):  # pages with NULs
        return ""


def format_real_pages(found: dict[str, Any]) -> list[str]:
    """The results as Markdown."""
    counts = found["pages"]
    sources = list(counts)
    heads = " | ".join(f"{each} ({counts[each]})" for each in sources)
    lines = [f"| precision, recall, F1 | {heads} | CPU s |"]
    lines.append(f"|{'---|' * (len(sources) + 2)}")
    for tool, each in found["tools"].items():
        numbers = [", ".join(f"{number:.3f}" for number in each[source]) for source in sources]
        lines.append(f"| {tool} | {' | '.join(numbers)} | {each['cpu_s']:.1f} |")
    return lines


def format_pages(found: dict[str, Any]) -> list[str]:
    """The results as Markdown: over all pages, then F1 by layout."""
    layouts = list(next(iter(found.values()))["F1"])
    lines = [f"| pages | P | R | F1 | {' | '.join(layouts)} | CPU s |", f"|{'---|' * (len(layouts) + 5)}"]
    for tool, each in found.items():
        numbers = [*each["all"], *each["F1"].values()]
        lines.append(f"| {tool} | {' | '.join(f'{number:.3f}' for number in numbers)} | {each['cpu_s']:.2f} |")
    return lines


def format_report(found: dict[str, Any]) -> list[str]:
    """The results as Markdown: first over all documents, then by kind."""
    lines = [f"| all documents | {' | '.join(MEASURES)} | CPU s |", f"|{'---|' * (len(MEASURES) + 2)}"]
    lines += [f"| {tool} | {_format(each['all'])} | {each['cpu_s']:.1f} |" for tool, each in found.items()]
    kinds = list(next(iter(found.values()))["kinds"]) if found else []
    for kind in kinds:
        lines += ["", f"| {kind} | {' | '.join(MEASURES)} |", f"|{'---|' * (len(MEASURES) + 1)}"]
        lines += [f"| {tool} | {_format(each['kinds'][kind])} |" for tool, each in found.items()]
    return lines


def _format(scores: dict[str, float | None]) -> str:
    return " | ".join("" if (number := scores[name]) is None else f"{number:.3f}" for name in MEASURES)


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=3, help="documents of each kind")
    parser.add_argument("--only", nargs="+", choices=list(TOOLS), help="these tools")
    parser.add_argument("--folder", type=Path, nargs="+", help="documents with their content instead of generated ones")
    parser.add_argument("--html", action="store_true", help="web pages instead of PDFs")
    parser.add_argument("--pages", type=Path, help="folder of repositories with real web pages")
    parser.add_argument("--part", choices=["aside", "seen"], default="aside", help="which of the real documents")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.pages:
        real = measure_real_pages(given.pages, given.part)
        print(json.dumps(real) if given.json else "\n".join(format_real_pages(real)))
        return
    if given.html:
        pages = measure_pages(given.each)
        print(json.dumps(pages) if given.json else "\n".join(format_pages(pages)))
        return
    if given.folder:
        documents = [made for folder in given.folder for made in read_folder(folder, given.part)]
    else:
        documents = make_documents(given.each)
    found = measure(documents, given.only or list(TOOLS))
    print(json.dumps(found) if given.json else "\n".join(format_report(found)))


if __name__ == "__main__":
    main()
