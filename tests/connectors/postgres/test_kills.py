"""An export whose process is killed at any moment, or whose server is: nothing is lost, and nothing is there twice."""

import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from inorder.errors import InfrastructureError
from inorder.sinks.base import Position
from inorder.targets.base import TargetChanges, TargetLayout
from inorder.targets.postgres import connection as connection_module
from inorder.targets.postgres import target as target_module
from inorder.targets.postgres.connection import Connection
from inorder.targets.postgres.target import PostgresTarget
from tests.connectors.postgres.exports import Corpus, export, make_texts, read_tables
from tests.connectors.postgres.server import PostgresServer

KILLS, TESTS = 10, 20
DOCUMENTS = 40
pytestmark = [pytest.mark.process, pytest.mark.slow]


class Corpora:
    """Two editions of an index: the second one has changed, new and removed documents."""

    def __init__(self, folder: Path) -> None:
        (folder / "first").mkdir()
        (folder / "second").mkdir()
        first, second = Corpus(folder / "first"), Corpus(folder / "second")
        texts = make_texts(DOCUMENTS, "first")
        first.make(texts)
        changed = make_texts(DOCUMENTS + 8, "second")
        second.make(texts | {name: changed[name] for name in list(changed)[::2] + list(changed)[DOCUMENTS:]})
        for name in list(texts)[1::10]:
            (second.docs / name).unlink()
        second.run()
        self.first, self.second = first.data, second.data


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long to notice that a process was killed, or to start a server."""
    monkeypatch.setattr(target_module, "LOCK_WAIT_S", 120)
    monkeypatch.setattr(connection_module, "WAIT_S", 120.0)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Corpora:
    return Corpora(tmp_path_factory.mktemp("corpora"))


def run_in_child(act: Callable[[], object]) -> tuple[int, int]:
    """A process that does this; its id, and a file that is at its end when the process is."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            act()
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    return child, reader


def wait(child: int, reader: int, timeout_s: float | None) -> bool:
    """Wait for the end of a process, and kill it at this time. Whether it was killed before its end."""
    ready, _, _ = select.select([reader], [], [], timeout_s)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reader)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.mark.parametrize("seed", range(TESTS))
def test_an_export_that_is_killed_again_and_again_ends_like_an_undisturbed_one(
    seed: int, corpora: Corpora, server: PostgresServer, database: str, address: str
) -> None:
    moments = random.Random(seed)
    export(corpora.second, address, collection="whole")
    whole = read_tables(server, database, "whole")
    kills, round_number, longest_s = 0, 0, 0.6
    while kills < KILLS:
        round_number += 1
        collection = f"round_{round_number}"
        if round_number % 2:
            export(corpora.first, address, collection=collection)
        is_killed = True
        while is_killed:
            began_s = time.monotonic()
            child = run_in_child(partial(export, corpora.second, address, collection=collection))
            is_killed = wait(*child, moments.uniform(0.0, longest_s))
            kills += is_killed
            if not is_killed:  # or kills would come too late on a fast disk
                longest_s = min(longest_s, time.monotonic() - began_s)
        assert read_tables(server, database, collection) == whole


class Interrupted(PostgresTarget):
    """Calls a function at a moment of its third write."""

    moment: ClassVar[str] = ""
    interruptions: ClassVar[list[Callable[[], object]]] = []
    count = 0

    def _write(self, connection: Connection, changes: TargetChanges, position: Position, *, is_synced: bool) -> None:
        self.count += bool(changes.written)
        is_third = self.count == 3 and bool(changes.written)
        if is_third and self.moment == "before":
            self._interrupt_once()
        super()._write(connection, changes, position, is_synced=is_synced)
        if is_third and self.moment == "after":
            self._interrupt_once()

    def _copy(self, connection: Connection, documents: Any) -> None:
        super()._copy(connection, documents)
        if self.count == 3 and self.moment == "within":
            self._interrupt_once()

    def _interrupt_once(self) -> None:
        for interrupt in self.interruptions:
            interrupt()
        self.interruptions.clear()


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> type[Interrupted]:
    monkeypatch.setattr("inorder.targets.postgres.target.open_target", Interrupted)
    return Interrupted


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    pytest.importorskip("pgserver", reason="`make test-connectors` installs the package pgserver")
    running = PostgresServer()
    yield running
    running.close()


@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_a_server_that_is_killed_and_started_again_is_waited_for(
    moment: str, corpora: Corpora, own_server: PostgresServer, interrupted: type[Interrupted]
) -> None:
    address = own_server.create_database("x")
    export(corpora.second, address, collection="whole")

    def restart() -> None:
        own_server.stop_at_once()
        threading.Thread(target=own_server.start).start()

    interrupted.moment = moment
    interrupted.interruptions.append(restart)
    outcome = export(corpora.second, address)
    assert outcome.stop_kind is None
    assert not interrupted.interruptions
    assert read_tables(own_server, "x") == read_tables(own_server, "x", "whole")


def test_the_tables_are_on_disk_before_anything_is_written_to_them(
    corpora: Corpora, own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server writes commits that do not wait for the disk only every ten seconds, and dies before."""
    own_server.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
    own_server.execute("SELECT pg_reload_conf()")
    address = own_server.create_database("x")

    class Killed(PostgresTarget):
        """The server is killed as soon as the tables are there."""

        def open(self, layout: TargetLayout) -> None:
            super().open(layout)
            own_server.stop_at_once()
            own_server.start()

    monkeypatch.setattr(target_module, "open_target", Killed)
    assert export(corpora.second, address).stop_kind is None
    export(corpora.second, address, collection="whole")
    assert read_tables(own_server, "x") == read_tables(own_server, "x", "whole")


def test_a_server_that_stays_away_ends_the_run_which_can_be_repeated(
    corpora: Corpora, own_server: PostgresServer, interrupted: type[Interrupted], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own_server.create_database("x")
    export(corpora.second, address, collection="whole")
    monkeypatch.setattr(connection_module, "WAIT_S", 0.5)
    interrupted.moment = "within"
    interrupted.interruptions.append(own_server.stop_at_once)
    with pytest.raises(InfrastructureError, match=r"the server has not answered for .* run again to resume"):
        export(corpora.second, address)
    own_server.start()
    assert export(corpora.second, address).stop_kind is None
    assert read_tables(own_server, "x") == read_tables(own_server, "x", "whole")
