"""Make questions with known answers out of what is in DATA, without a model.

Four kinds of texts name a file: the text of a link to it, its title, the headings in it, and the first sentences of its
docstrings. A text counts if it names one file only and has some words. Links are the best of them: they stand in
another file, in words of its author. The others stand in the file that answers them, so a search by words finds them
easily: they compare settings, and do not tell how well questions of people are answered.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from inorder.errors import OperatorError
from inorder.host.filesystem import SystemFilesystem, make_directories, write_atomic
from inorder.index.lexical.analysis import split_words
from inorder.index.rows import CODE
from inorder.index.search import use_index
from inorder.library.opening import find_index

from .dataset import open as open_data

LINK, TITLE, HEADING, DOCSTRING = "link", "title", "heading", "docstring"
KINDS = (LINK, TITLE, HEADING, DOCSTRING)
OF_ONE_KIND_MAX = 200
"""More questions of a kind are thinned out evenly."""
WORDS_MIN, WORDS_MAX = 3, 20
_DOCSTRING = re.compile(r'(?:"""|/\*\*)\s*(.+?)(?:[.!?](?:\s|$)|\n\s*\n|"""|\*/)', re.DOTALL)
_INDEX_NAMES = {"index", "_index", "readme", "__init__"}


class MadeQuestion(NamedTuple):
    """A question, where it comes from, and the file that answers it."""

    kind: str
    text: str
    item_id: str


def make_questions(data: str) -> list[MadeQuestion]:
    """Make questions from the documents and the source code in DATA. The same DATA gives the same ones."""
    answers: dict[str, dict[str, set[str]]] = {kind: {} for kind in KINDS}
    for question in (*_read_documents(data), *_read_docstrings(data)):
        text = " ".join(question.text.split())
        if WORDS_MIN <= len(split_words(text)) <= WORDS_MAX:
            answers[question.kind].setdefault(text, set()).add(question.item_id)
    found = []
    for kind, by_text in answers.items():
        clear = [MadeQuestion(kind, text, *items) for text, items in sorted(by_text.items()) if len(items) == 1]
        found += clear[:: -(-len(clear) // OF_ONE_KIND_MAX) or 1]
    return found


def _read_documents(data: str) -> Iterator[MadeQuestion]:
    links: list[tuple[str, str, str]] = []
    titles: dict[str, str] = {}
    with open_data(data) as opened:
        for chunk in opened.chunks():
            titles.setdefault(chunk.doc_id, chunk.section_path[0] if chunk.section_path else "")
            links += [(chunk.doc_id, link.text, link.target) for link in chunk.links]
            if len(chunk.section_path) > 1:
                yield MadeQuestion(HEADING, chunk.section_path[-1], chunk.doc_id)
    yield from (MadeQuestion(TITLE, title, doc_id) for doc_id, title in titles.items())
    targets = _LinkTargets(titles)
    for doc_id, text, target in links:
        found = targets.find(doc_id, target)
        is_other_name = found and text.casefold() not in titles[found].casefold()
        if found and found != doc_id and is_other_name and "/" not in text:
            yield MadeQuestion(LINK, text, found)


class _LinkTargets:
    """Finds the document that a link leads to: by its path, with or without the suffix and the name of an index."""

    def __init__(self, doc_ids: Iterable[str]) -> None:
        self._by_tail: dict[str, set[str]] = {}
        for doc_id in doc_ids:
            parts = _shorten(unquote(doc_id)).split("/")
            for at in range(len(parts)):
                self._by_tail.setdefault("/".join(parts[at:]), set()).add(doc_id)

    def find(self, doc_id: str, target: str) -> str:
        """Return the document; empty if none or several match."""
        try:
            address = urlsplit(target)
        except ValueError:
            return ""
        path = unquote(address.path)
        if address.scheme or address.netloc or not path:
            return ""
        folder = posixpath.dirname(unquote(doc_id))
        full = path.strip("/") if path.startswith("/") else posixpath.normpath(posixpath.join(folder, path))
        found = self._by_tail.get(_shorten(full), set())
        return next(iter(found)) if len(found) == 1 else ""


def _shorten(path: str) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    stem = name.rpartition(".")[0] or name
    return folder if stem.lower() in _INDEX_NAMES and folder else f"{folder}/{stem}" if folder else stem


def _read_docstrings(data: str) -> Iterator[MadeQuestion]:
    query = (
        "SELECT item_id, chunks.text FROM chunks JOIN files ON files.id = file "
        "WHERE files.kind = ? AND chunks.name != '' ORDER BY item_id, number"
    )
    with use_index(find_index(data)) as index:
        for item_id, text in index.connection.execute(query, (CODE,)):
            found = _DOCSTRING.search(text[:2000])
            if found:
                yield MadeQuestion(DOCSTRING, re.sub(r"\n\s*\*?\s*", " ", found[1]), item_id)


def write_questions(paths: tuple[str, str], questions: list[MadeQuestion]) -> None:
    """Write the questions and their answers to two new files, as `inorder eval` reads them. Raises OperatorError if one
    of them is there already."""
    named = [(f"{question.kind}-{number}", question) for number, question in enumerate(questions, 1)]
    rows = (msgspec.json.encode({"id": name, "text": question.text}) for name, question in named)
    judgements = (f"{name}\t{question.item_id}\t1".encode() for name, question in named)
    taken = next(filter(os.path.lexists, paths), None)
    if taken:
        raise OperatorError(f"{taken} is there already: name another folder, or remove it")
    make_directories(os.path.dirname(paths[0]))
    for path, lines in zip(paths, (rows, judgements), strict=True):
        write_atomic(SystemFilesystem(), path, b"".join(line + b"\n" for line in lines))
