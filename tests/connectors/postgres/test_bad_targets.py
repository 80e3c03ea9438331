"""Targets that cannot be written to: one line that says why, and nothing is left half-written."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from inorder.targets.postgres import connection as connection_module
from inorder.targets.postgres import schema, target
from tests.connectors.postgres.exports import Corpus, export, make_texts, read_tables
from tests.connectors.postgres.server import SECURED, PostgresServer
from tests.support.in_process import run_in_process

SECRET = "horn-of-the-keeper"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    corpus.make(make_texts(5, "first"))
    return corpus.data


def run_export(data: Path, address: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints. No secret is printed, or stored in DATA."""
    line = ["export", "--data", str(data), *arguments]
    variables = {"INORDER_POLICY": "io", "INORDER_QUIET": "1", "INORDER_TO": address, "PATH": "", **environment}
    code, out, err = run_in_process(line, data, variables)
    stored = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert SECRET not in out + err
    assert SECRET.encode() not in stored
    return code, err


def fail(data: Path, address: str, *arguments: str, code: int = 2) -> str:
    """The line that a failed export prints."""
    found, err = run_export(data, address, *arguments)
    lines = err.splitlines()
    assert found == code, err
    assert len(lines) == 1, err
    return lines[0].removeprefix("inorder: ")


def is_untouched(server: PostgresServer, database: str) -> bool:
    return server.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'inorder'", database) == []


@pytest.fixture
def secured(server: PostgresServer, database: str) -> Iterator[str]:
    """A user with a password and without rights."""
    server.execute(f"CREATE ROLE {SECURED} LOGIN PASSWORD '{SECRET}'")
    yield SECURED
    server.execute(f"DROP OWNED BY {SECURED} CASCADE", database)
    server.execute(f"DROP ROLE {SECURED}")


def test_a_password_is_used_and_not_stored(server: PostgresServer, database: str, secured: str, data: Path) -> None:
    server.execute("CREATE EXTENSION vector", database)
    server.execute(f'GRANT CREATE ON DATABASE "{database}" TO {secured}')
    code, err = run_export(data, server.address(database, secured, SECRET))
    assert code == 0, err
    code, err = run_export(data, server.address(database, secured), PGPASSWORD=SECRET)
    assert code == 0, err
    assert len(read_tables(server, database)["documents"]) == 5


def test_a_wrong_password(server: PostgresServer, database: str, secured: str, data: Path) -> None:
    line = fail(data, server.address(database, secured, "wrong"))
    assert "password authentication failed" in line
    assert "wrong" not in line
    assert is_untouched(server, database)


def test_a_run_says_so_before_it_begins(server: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Words.")
    line = ["run", "a.md", "--to", server.address("nowhere"), "--data", "new"]
    code, _, err = run_in_process(line, tmp_path, {"PATH": ""})
    assert code == 2
    assert 'database "nowhere" does not exist' in err
    assert not (tmp_path / "new").exists()


def test_an_unknown_host(data: Path) -> None:
    assert "nowhere.invalid" in fail(data, f"postgresql://me:{SECRET}@nowhere.invalid/x")


def test_a_server_that_does_not_run(tmp_path: Path, data: Path) -> None:
    assert "No such file or directory" in fail(data, f"postgresql:///x?host={tmp_path}", code=1)


def test_an_unknown_database(server: PostgresServer, data: Path) -> None:
    assert 'database "nowhere" does not exist' in fail(data, server.address("nowhere"))


def test_a_server_without_the_extension(
    server: PostgresServer, database: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "EXTENSION", "no_such_extension")
    assert "has no extension `no_such_extension`; install pgvector" in fail(data, server.address(database))
    assert is_untouched(server, database)


def test_a_user_who_may_not_create_the_extension(
    server: PostgresServer, database: str, secured: str, data: Path
) -> None:
    line = fail(data, server.address(database, secured, SECRET))
    assert "this user may not create it; let its owner run: CREATE EXTENSION vector" in line
    assert is_untouched(server, database)


def test_a_user_who_may_not_create_tables(server: PostgresServer, database: str, secured: str, data: Path) -> None:
    server.execute("CREATE EXTENSION vector", database)
    assert "permission denied" in fail(data, server.address(database, secured, SECRET))
    assert is_untouched(server, database)


def test_a_user_who_may_only_read(server: PostgresServer, database: str, secured: str, data: Path) -> None:
    server.execute(f"ALTER ROLE {secured} SET default_transaction_read_only = on")
    assert "read-only" in fail(data, server.address(database, secured, SECRET))
    assert is_untouched(server, database)


def test_a_standby(data: Path) -> None:
    pytest.importorskip("pgserver", reason="`make test-connectors` installs the package pgserver")
    server = PostgresServer()
    try:
        server.become_standby()
        assert "the server is a standby" in fail(data, server.address())
    finally:
        server.close()


def test_a_database_of_another_encoding(server: PostgresServer, database: str, data: Path) -> None:
    server.execute(f"CREATE DATABASE {database}_latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    assert "has the encoding LATIN1" in fail(data, server.address(f"{database}_latin"))


def test_a_schema_of_a_newer_version(server: PostgresServer, database: str, data: Path) -> None:
    export(data, server.address(database))
    before = read_tables(server, database)
    server.execute("UPDATE inorder.meta SET value = '99' WHERE name = 'schema_version'", database)
    assert "was written by a newer version of inorder (schema 99, supported 1)" in fail(data, server.address(database))
    assert "newer version" in fail(data, server.address(database), "--recreate")
    assert read_tables(server, database) == before


def test_a_schema_of_another_program(server: PostgresServer, database: str, data: Path) -> None:
    server.execute("CREATE SCHEMA inorder", database)
    server.execute("CREATE TABLE inorder.documents (title text)", database)
    for arguments in ([], ["--recreate"]):
        assert "has tables of another program; use another --collection" in fail(
            data, server.address(database), *arguments
        )
    assert server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'inorder'", database) == [("documents",)]


def test_a_disk_that_is_full(server: PostgresServer, database: str, data: Path) -> None:
    """The server raises the error of a full disk from a trigger."""
    export(data, server.address(database), collection="whole")
    export(data, server.address(database))
    server.execute("DELETE FROM inorder.documents WHERE doc_id > 'docs/001.md'", database)
    before = read_tables(server, database)
    server.execute(
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END$$",
        database,
    )
    server.execute("CREATE TRIGGER full_disk BEFORE INSERT ON inorder.chunks EXECUTE FUNCTION fill()", database)
    assert "the disk of the server is full" in fail(data, server.address(database), code=1)
    assert read_tables(server, database) == before
    server.execute("DROP TRIGGER full_disk ON inorder.chunks", database)
    export(data, server.address(database))
    assert read_tables(server, database) == read_tables(server, database, "whole")


def test_a_table_that_another_session_has_locked(
    server: PostgresServer, database: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "LOCK_S", 1)
    monkeypatch.setattr(connection_module, "LOCK_S", 1)
    export(data, server.address(database))
    before = read_tables(server, database)
    server.execute("DELETE FROM inorder.documents WHERE doc_id > 'docs/003.md'", database)
    with psycopg.connect(server.address(database)) as connection:
        connection.execute("LOCK TABLE inorder.chunks IN ACCESS EXCLUSIVE MODE")
        assert "another session has locked a table" in fail(data, server.address(database), code=5)
    export(data, server.address(database))
    assert read_tables(server, database) == before
