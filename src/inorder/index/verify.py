"""Check an index against its digests: that of each file, recomputed from its rows, and that of the whole content."""

import sqlite3
from collections.abc import Iterator
from itertools import chain

import numpy as np

from .calls import pack_calls, read_callees
from .lexical.check import is_inverted_index_intact
from .lexical.file_terms import FileTerms
from .lexical.schema import DamagedIndexError
from .rows import count_terms, hash_rows
from .schema import read_meta
from .vectors.row_chunks import DEAD, read_chunk_blocks
from .vectors.table import list_matrix_files
from .writer import content_hash, read_file

_REBUILD = "remove index.sqlite and run `inorder index` again"


def find_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the index, one line per problem."""
    for (message,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
        if message != "ok":
            yield f"the database is damaged: {message}; {_REBUILD}"
            return
    for file, item_id in connection.execute("SELECT id, item_id FROM files ORDER BY item_id"):
        try:
            rows, digest = read_file(connection, item_id)
        except DamagedIndexError as error:
            yield f"{item_id}: {error}; {_REBUILD}"
            return
        if hash_rows(rows) != digest:
            yield f"{item_id}: its rows do not match its digest; {_REBUILD}"
        elif sorted(read_callees(connection, file)) != sorted(pack_calls(rows.calls).callees):
            yield f"{item_id}: the names that it calls do not match its calls; {_REBUILD}"
    if not is_inverted_index_intact(connection, _count_all_terms(connection)):
        yield f"the inverted index does not match the chunks; {_REBUILD}"
    if problem := _find_problem_of_vectors(connection):
        yield f"the table `vectors` {problem}; {_REBUILD}"
    found, recorded = content_hash(connection), read_meta(connection, "content_hash")
    if found != recorded:
        yield f"the content hash is {found}, but {recorded} was recorded; {_REBUILD}"


def _find_problem_of_vectors(connection: sqlite3.Connection) -> str:
    """What is wrong with the chunks of the rows of all files with vectors; empty if nothing is."""
    files = list_matrix_files(connection, "")
    if not files:
        return ""
    ids = np.fromiter(chain.from_iterable(connection.execute("SELECT id FROM chunks ORDER BY id")), np.int64)
    ids = np.append(ids, DEAD)  # so that there is always a place to look at
    is_named = np.zeros(len(ids), np.bool_)
    for file in files:
        dead = 0
        for chunks in read_chunk_blocks(connection, file):
            alive = chunks[chunks != DEAD]
            dead += len(chunks) - len(alive)
            places = np.searchsorted(ids[:-1], alive)
            if (ids[places] != alive).any():
                return "names chunks that do not exist"
            if is_named[places].any() or len(np.unique(places)) < len(places):
                return "names a chunk twice"
            is_named[places] = True
        if dead != file.dead:
            return f"has {dead} rows of removed chunks instead of {file.dead}"
    return ""


def _count_all_terms(connection: sqlite3.Connection) -> Iterator[tuple[list[int], FileTerms]]:
    """The ids and the terms of the chunks of each file, counted again."""
    for file, item_id in connection.execute("SELECT id, item_id FROM files"):
        rows, _ = read_file(connection, item_id)
        ids = connection.execute("SELECT id FROM chunks WHERE file = ? ORDER BY number", (file,))
        yield [id_ for (id_,) in ids.fetchall()], count_terms(rows)
