"""The line of a text or Markdown file in which a part of its document begins.

A document does not say where its text was in the file: paragraphs are joined, signs of Markdown are left out. So the
file is read as it is now, and the first words are looked for. Other types of files have no lines for people.
"""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from inorder.errors import ReadError
from inorder.files.encoding import decode
from inorder.host.regular_file import read_regular
from inorder.host.spelling import find_spelled

from .hits import Hit
from .ranking.snippets import SnippetLine
from .rows import CODE

_TYPES = frozenset(["adoc", "asciidoc", "log", "markdown", "md", "mdown", "mdx", "mkd", "org", "rst", "text", "txt"])
_BYTES_MAX = 4 * 2**20
_FILES_MAX = 8
_WORD = re.compile(r"\w+")
_COUNTS = (12, 6, 3)
"""How many words are looked for: fewer where there is something else between them, such as the target of a link."""
_BETWEEN = r"[\W_]{1,40}"
_LINE_END = re.compile(r"\r\n|\r|\n")


def find_best_line(hit: Hit, snippet: Sequence[SnippetLine]) -> int:
    """The line of the file that answers best, from 1; 0 if it is not known. `snippet` is that of the hit."""
    best = next((line for line in snippet if line.is_best), None)
    if hit.file_kind == CODE:
        return best.number if best else hit.start
    return find_line(hit.path, hit.text, best.text) if best else 0


def find_line(path: str, text: str, line: str) -> int:
    """The line of a file, from 1, in which a line of this part of its text begins; 0 if it is not known."""
    if path.rpartition(".")[2].lower() not in _TYPES:
        return 0
    path = find_spelled(path)
    try:
        found = os.stat(path)
        content = _read(path, found.st_size, found.st_mtime_ns)
    except (OSError, ReadError):
        return 0
    at = _find(content, line, max(0, _find(content, text, 0)))
    at = _find(content, line, 0) if at < 0 else at
    return 0 if at < 0 else 1 + len(_LINE_END.findall(content, 0, at))


@lru_cache(_FILES_MAX)
def _read(path: str, size: int, changed_ns: int) -> str:
    """The text of a file of this size that was changed at this time; empty for a large one."""
    return decode(read_regular(path)).text if size <= _BYTES_MAX else ""


def _find(content: str, text: str, start: int) -> int:
    """Where the first words of a text are; -1: nowhere."""
    words = [match[0] for match in islice(_WORD.finditer(text), _COUNTS[0])]
    counts = [len(words), *(count for count in _COUNTS if count < len(words))] if words else []
    return next((at for count in counts if (at := _search(content, words[:count], start)) >= 0), -1)


def _search(content: str, words: Sequence[str], start: int) -> int:
    found = re.compile(rf"\b{_BETWEEN.join(map(re.escape, words))}\b").search(content, start)
    return found.start() if found else -1
