"""The runs that have written to the library, and whether all that they have committed is published."""

import sqlite3
import time

from .schema import held_epoch, next_epoch


def find_run(connection: sqlite3.Connection, run_id: str) -> int:
    """Return the number of a run, which is new if the library does not know it. Called in a transaction."""
    connection.execute(
        "INSERT INTO runs (run_id, began_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (run_id, round(time.time(), 3))
    )
    return int(connection.execute("SELECT id FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])


def write_outcome(connection: sqlite3.Connection, run_id: str, outcome: bytes) -> None:
    """Store what a run has done so far. Called in a transaction."""
    connection.execute("UPDATE runs SET outcome = ? WHERE id = ?", (outcome, find_run(connection, run_id)))


def has_pending(connection: sqlite3.Connection, *, with_held: bool) -> bool:
    """Whether anything is committed and not published; with `with_held`, also what waits for the end of a pass."""
    [epoch] = connection.execute("SELECT epoch FROM generation").fetchone()
    last = held_epoch(epoch) if with_held else next_epoch(epoch)
    query = "SELECT 1 FROM pending WHERE epoch > ? AND epoch <= ? LIMIT 1"
    return connection.execute(query, (epoch, last)).fetchone() is not None
