"""Real web pages whose articles are known, from public repositories, beside each other in one folder:

    git clone https://github.com/mozilla/readability
    git clone https://github.com/adbar/trafilatura

Pages of the first have the whole text of their article. Those of the second have sentences that belong to the
article, and others that do not. A third of the pages, by a hash of their names, was not looked at when the rules were
written.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .pages import compare_text

_SHARES = 3


class RealPage(NamedTuple):
    """A page, and what is known of its article."""

    source: str
    name: str
    html: bytes
    article: str
    wanted: list[str]
    """Sentences of the article, if its whole text is not known."""
    unwanted: list[str]

    @property
    def is_aside(self) -> bool:
        """Whether the page is in the third that is set aside."""
        return int(hashlib.sha1(self.name.encode()).hexdigest(), 16) % _SHARES == 0


def read_real_pages(folder: Path) -> Iterator[RealPage]:
    """The pages of the repositories that the folder has."""
    for source in (_read_mozilla, _read_trafilatura):
        yield from source(folder)


def _read_mozilla(folder: Path) -> Iterator[RealPage]:
    for path in sorted(folder.glob("readability/test/test-pages/*/source.html")):
        article = _read_text((path.parent / "expected.html").read_bytes())
        yield RealPage("mozilla", path.parent.name, path.read_bytes(), article, [], [])


def _read_trafilatura(folder: Path) -> Iterator[RealPage]:
    tests = folder / "trafilatura" / "tests"
    for each in _load(tests / "evaldata.json").values():
        for path in (tests / "eval" / each["file"], tests / "cache" / each["file"]):
            if path.exists():
                yield RealPage("trafilatura", each["file"], path.read_bytes(), "", each["with"], each["without"])
                break


@cache
def _load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


def _read_text(page: bytes) -> str:
    from lxml.html import document_fromstring

    root = document_fromstring(page.decode("utf-8", "replace"))
    for each in root.xpath("//script|//style"):
        each.drop_tree()
    return " ".join(root.xpath("//text()"))


class PageScores:
    """Precision and recall of the articles of one source: the means over pages, or over all their sentences."""

    def __init__(self) -> None:
        self._pages: list[tuple[float, float]] = []
        self._sentences: defaultdict[str, int] = defaultdict(int)

    def add(self, page: RealPage, text: str) -> None:
        """Add the text that a tool reads of a page."""
        if page.article:
            precision, recall, _ = compare_text(text, page.article)
            self._pages.append((precision, recall))
            return
        line = " ".join(text.split())
        self._sentences["right"] += sum(" ".join(each.split()) in line for each in page.wanted)
        self._sentences["wanted"] += len(page.wanted)
        self._sentences["wrong"] += sum(" ".join(each.split()) in line for each in page.unwanted)

    def sum_up(self) -> tuple[float, float, float]:
        """Precision, recall and F1."""
        if self._pages:
            precision, recall = (sum(column) / len(self._pages) for column in zip(*self._pages, strict=True))
        else:
            right = self._sentences["right"]
            precision = right / max(1, right + self._sentences["wrong"])
            recall = right / max(1, self._sentences["wanted"])
        return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)
