"""Where the documents stages put things in DATA, and finding what an earlier one has made.

    doctags/<doc id>.doctags, <doc id>.docling.json     the documents
    pages/<doc id>/...                                  parts of documents that are too long for one item
    chunks/<doc id>.parquet or .jsonl
    vectors/<family>/<doc id>.parquet

The doc id is the path of the source below its root, so the same document has the same name everywhere.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

RECORD = ".docling.json"
TAGS = ".doctags"
CHUNKS = "chunks"
CHUNK_ENDINGS = {"parquet": ".parquet", "jsonl": ".jsonl"}


class Made(NamedTuple):
    """A file that an earlier stage has made."""

    doc_id: str
    path: str
    size: int


def made(data: str | os.PathLike[str], folder: str, *endings: str) -> Iterator[Made]:
    """Every file with one of these endings below a folder of DATA, in an order that does not depend on the machine."""
    root = os.path.join(os.path.abspath(data), folder)
    stack = [root]
    while stack:
        here = stack.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        folders = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif ending := next((each for each in endings if entry.name.endswith(each)), ""):
                doc_id = os.path.relpath(entry.path, root).removesuffix(ending)
                yield Made(doc_id, entry.path, entry.stat().st_size)
        stack.extend(reversed(folders))


def chunked(data: str | os.PathLike[str]) -> Iterator[Made]:
    """Every document that has chunks."""
    return made(data, CHUNKS, *CHUNK_ENDINGS.values())
