"""Publish what is committed: one transaction that inverts the terms that wait, writes the vectors, and moves the epoch.

What is retired by it is removed in the same transaction if it is little, and otherwise in small ones after it, so that
the write-ahead log stays short when all files change at once.
"""

import sqlite3
import time

from inorder.index.lexical.inversion import SEGMENT_CHUNKS_MAX, MergeRules, merge_segments
from inorder.index.schema import write_meta

from .removal import remove_result, remove_rows
from .rows import DENSE
from .runs import has_pending
from .schema import STEPS_MAX, held_epoch, next_epoch
from .totals import Totals, advance_totals
from .vectors import VectorChanges, update_vectors
from .writer import FileWriter

SWEPT_ITEMS = 1000
"""Items whose retired rows are removed in one transaction."""
_SEGMENTS_MAX = 16
"""More small segments are merged. With fewer, every posting is written once more in a large run."""
_SEGMENT_BYTES = 24 * 2**20
"""About the largest segment that a merge makes: it is written in one transaction."""


def publish(writer: FileWriter, connection: sqlite3.Connection, data: str, *, with_held: bool) -> None:
    """Make visible what is committed; `with_held`: also what waits for the end of a pass. Called in a transaction."""
    epoch = held_epoch(writer.epoch) if with_held else next_epoch(writer.epoch)
    changes = VectorChanges(connection, writer.epoch, epoch)
    writer.terms.invert(epoch)
    connection.execute(
        "UPDATE generation SET epoch = ?, number = number + 1, published_at = ?", (epoch, round(time.time(), 3))
    )
    writer.terms.reveal(epoch)
    totals = advance_totals(connection, epoch)
    is_last = not has_pending(connection, with_held=True)
    update_vectors(connection, data, changes, choose_spec(connection, totals, is_free=is_last))
    chunks_max = min(SEGMENT_CHUNKS_MAX, _SEGMENT_BYTES // writer.terms.chunk_bytes)
    merge_segments(connection, MergeRules(_SEGMENTS_MAX, chunks_max, "retired", "hidden"))
    _write_meta(connection, totals)
    writer.epoch = epoch


def sweep(connection: sqlite3.Connection) -> int:
    """Remove what was retired of up to `SWEPT_ITEMS` items. Returns how many there were. Called in a transaction."""
    epoch_query = "(SELECT epoch FROM generation)"
    connection.execute(f"DELETE FROM pending WHERE epoch <= {epoch_query} AND NOT replaces")
    found = connection.execute(
        f"SELECT epoch, item FROM pending WHERE epoch <= {epoch_query} LIMIT ?", (SWEPT_ITEMS,)
    ).fetchall()
    for _, item in found:
        first = item * STEPS_MAX
        retired = connection.execute(
            f"SELECT id FROM results WHERE key BETWEEN ? AND ? AND until <= {epoch_query}",
            (first, first + STEPS_MAX - 1),
        ).fetchall()
        for (id_,) in connection.execute(
            f"SELECT id FROM searchable WHERE item = ? AND until <= {epoch_query}", (item,)
        ).fetchall():
            remove_rows(connection, item, id_)
        for (id_,) in retired:
            remove_result(connection, item, id_)
    connection.executemany("DELETE FROM pending WHERE epoch = ? AND item = ?", found)
    connection.executemany(
        "DELETE FROM items WHERE id = ?1 AND removed = 1 AND NOT EXISTS (SELECT 1 FROM pending WHERE item = ?1)",
        [(item,) for _, item in found],
    )
    return len(found)


def choose_spec(connection: sqlite3.Connection, totals: Totals, *, is_free: bool) -> str:
    """Return the provider whose vectors are searched: most of the visible vectors are of it. While files are held, it
    stays the one that it is (`is_free` is False)."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'vectors_provider'").fetchone()
    if row is not None and row[0] and not is_free:
        return str(row[0])
    prefix = f"{DENSE}/spec/"
    found = {name.removeprefix(prefix): count for name, count in totals.counts.items() if name.startswith(prefix)}
    return max(sorted(found), key=found.__getitem__, default="")


def _write_meta(connection: sqlite3.Connection, totals: Totals) -> None:
    """Write what readers of the index ask for."""
    prefix = "language/document/"
    languages = sorted(name.removeprefix(prefix) for name in totals.counts if name.startswith(prefix))
    write_meta(connection, "languages", " ".join(languages))
    write_meta(connection, "language_counts", " ".join(str(totals.counts[f"{prefix}{each}"]) for each in languages))
    write_meta(connection, "content_hash", totals.content_hash)
