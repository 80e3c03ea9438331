"""The rules of sinks, on a real server."""

import itertools
from collections.abc import Callable

import psycopg
import pytest

from inorder.sinks.base import Position, Sink
from inorder.sinks.testing import RULES, MakeHarness, check_only_one_can_be_open
from inorder.targets.base import TargetChanges, TargetLayout, TargetOptions
from inorder.targets.postgres import target as module
from inorder.targets.postgres.connection import Connection
from inorder.targets.postgres.target import PostgresTarget, encode
from inorder.targets.sink import TargetSink
from tests.connectors.postgres.exports import TABLES
from tests.targets.harnesses import TargetHarness

DIMENSIONS = 3
_numbers = itertools.count()


class CountingTarget(PostgresTarget):
    """Counts its transactions."""

    count = 0

    def _write(self, connection: Connection, changes: TargetChanges, position: Position, *, is_synced: bool) -> None:
        super()._write(connection, changes, position, is_synced=is_synced)
        self.count += 1


class PostgresHarness(TargetHarness):
    """A schema of a database."""

    encode = staticmethod(encode)
    dimensions = DIMENSIONS
    is_exclusive = True

    def __init__(self, address: str) -> None:
        self._address = address
        self._collection = f"place_{next(_numbers)}"
        self._target: CountingTarget | None = None

    def open(self) -> Sink:
        target = CountingTarget(self._address, TargetOptions(collection=self._collection))
        try:
            target.open(TargetLayout(dimensions=DIMENSIONS, provider="test"))
        except BaseException:
            target.close()
            raise
        self._target = target
        return TargetSink(target)

    def content(self) -> object:
        return [self._query(f"SELECT * FROM {self._collection}.{table} ORDER BY 1, 2") for table in TABLES]

    def applied_seqs(self) -> list[int]:
        rows = self._query(f"SELECT doc_id FROM {self._collection}.documents ORDER BY doc_id")
        return [int(doc_id[10:18]) for (doc_id,) in rows]

    def damage(self) -> None:
        self._query(f"TRUNCATE {self._collection}.position, {self._collection}.documents")

    def write_count(self) -> int | None:
        return None if self._target is None else self._target.count

    def _query(self, query: str) -> list[tuple[str]]:
        with psycopg.connect(self._address, autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []


@pytest.mark.process
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sink_of_a_server_keeps_the_rule(
    rule: Callable[[MakeHarness], None], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT_S", 1 if rule is check_only_one_can_be_open else 60)
    rule(lambda: PostgresHarness(address))
