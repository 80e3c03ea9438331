"""Where the documents stages store their outputs in DATA.

    doctags/<doc id>.doctags, <doc id>.docling.json     the documents
    pages/<doc id>/...                                  parts of PDFs that are too long for one item
    chunks/<doc id>.parquet or .jsonl
    vectors/<family>/<doc id>.parquet

The doc id is the path of the source below its root, so the same document has the same name in every folder.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from inorder.files.predicted import get_predicted_change, list_entries

RECORD_SUFFIX = ".docling.json"
DOCTAGS_SUFFIX = ".doctags"
CHUNKS = "chunks"
VECTORS = "vectors"
CHUNK_SUFFIXES = {"parquet": ".parquet", "jsonl": ".jsonl"}


def vectors_path(family: str, doc_id: str) -> str:
    """The vector file of a document, relative to DATA. `family` is `dense`, `sparse` or `lexical`."""
    return f"{VECTORS}/{family}/{doc_id}.parquet"


class OutputFile(NamedTuple):
    """A file that an earlier stage has written."""

    doc_id: str
    path: str
    size: int


def list_outputs(data: str | os.PathLike[str], folder: str, *suffixes: str) -> Iterator[OutputFile]:
    """Every file below a folder of DATA that ends with one of `suffixes`, in an order that does not depend on the
    machine."""
    root = os.path.join(os.path.abspath(data), folder)
    stack = [root]
    while stack:
        folders = []
        for entry in list_entries(stack.pop()):
            if entry.is_folder:
                folders.append(entry.path)
            elif suffix := next((each for each in suffixes if entry.name.endswith(each)), ""):
                doc_id = os.path.relpath(entry.path, root).removesuffix(suffix)
                size = os.stat(entry.path).st_size if get_predicted_change(entry.path) is None else 0
                yield OutputFile(doc_id, entry.path, size)
        stack.extend(reversed(folders))


def list_chunk_files(data: str | os.PathLike[str]) -> Iterator[OutputFile]:
    """The chunk file of every document that has one."""
    return list_outputs(data, CHUNKS, *CHUNK_SUFFIXES.values())
