"""Targets of `inorder run --to` in which a test has places of its own, and what is in such a place."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.connectors.postgres.exports import read_tables
from tests.connectors.postgres.server import PostgresServer
from tests.connectors.s3_server import BUCKET, S3Server, serve_s3

PACKAGES = {"postgres": "pgserver", "lance": "lance", "s3": "moto", "duckdb": "duckdb"}


class RunTarget(Protocol):
    """A target with several places."""

    modules: tuple[str, ...]
    """What a process that forks others imports first."""
    environment: dict[str, str]
    """The variables that a run needs."""

    def find_arguments(self, place: str) -> list[str]:
        """The arguments of a run that exports to a place."""
        ...

    def read(self, place: str) -> object:
        """Everything that readers find there."""
        ...


class PostgresRuns:
    """A schema per place, in a database of its own."""

    modules = ("psycopg", "inorder.targets.postgres.target", "inorder.targets.export")

    def __init__(self, server: PostgresServer, database: str) -> None:
        self._server = server
        self._database = database
        self._address = server.create_database(database)
        self.environment: dict[str, str] = {}

    def find_arguments(self, place: str) -> list[str]:
        return ["--to", self._address, "--collection", place]

    def read(self, place: str) -> object:
        return read_tables(self._server, self._database, place)


class DuckDBRuns:
    """A file per place."""

    modules = ("duckdb", "inorder.targets.duckdb", "inorder.targets.export")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment: dict[str, str] = {}

    def find_arguments(self, place: str) -> list[str]:
        return ["--to", f"duckdb://{self._folder}/{place}.duckdb"]

    def read(self, place: str) -> object:
        import duckdb

        with duckdb.connect(f"{self._folder}/{place}.duckdb") as connection:
            queries = [f"SELECT * FROM inorder.{table} ORDER BY 1, 2" for table in ("documents", "chunks")]
            return [connection.execute(query).fetchall() for query in queries]


class LanceRuns:
    """A collection per place, in one folder."""

    modules = ("lance", "inorder.targets.lance", "inorder.targets.export")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment: dict[str, str] = {}

    def find_arguments(self, place: str) -> list[str]:
        return ["--to", f"lance://{self._folder}", "--collection", place]

    def read(self, place: str) -> object:
        import lance

        tables = (f"{place}_documents", place)
        rows = [lance.dataset(str(self._folder / f"{table}.lance")).to_table().to_pylist() for table in tables]
        return [sorted(each, key=lambda row: (row["doc_id"], row.get("number", 0))) for each in rows]


class S3Runs:
    """A prefix per place, below one of its own."""

    modules = ("s3fs", "inorder.dataset.export.export")

    def __init__(self, server: S3Server, prefix: str) -> None:
        self._prefix = prefix
        self.environment = server.environment

    def find_arguments(self, place: str) -> list[str]:
        return ["--to", f"s3://{BUCKET}/{self._prefix}/{place}"]

    def read(self, place: str) -> object:
        """Every object but those that are hidden."""
        import s3fs

        secrets = {"key": self.environment["AWS_ACCESS_KEY_ID"], "secret": self.environment["AWS_SECRET_ACCESS_KEY"]}
        endpoint = self.environment["AWS_ENDPOINT_URL"]
        options: Any = {"skip_instance_cache": True, "use_listings_cache": False, "endpoint_url": endpoint}
        client = s3fs.S3FileSystem(**secrets, **options)
        start = f"{BUCKET}/{self._prefix}/{place}"
        paths = [path for path in client.find(start) if "/.inorder/" not in path]
        return {path.removeprefix(start): client.cat_file(path) for path in paths}


@contextmanager
def open_target(kind: str, folder: Path) -> Iterator[RunTarget]:
    """A target with a server of its own, if it needs one."""
    pytest.importorskip(PACKAGES[kind], reason="make test-connectors installs it")
    if kind == "postgres":
        server = PostgresServer()
        try:
            yield PostgresRuns(server, "runs")
        finally:
            server.close()
    elif kind == "s3":
        with serve_s3() as store:
            yield S3Runs(store, "runs")
    else:
        yield LanceRuns(folder / "tables") if kind == "lance" else DuckDBRuns(folder)
