"""A PostgreSQL server for tests, from the binaries of the package `pgserver`."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

SYSTEM_USER = 65534
"""Runs the server if the tests run as root, which it refuses."""
SECURED = "secured"
"""A user who needs a password, if it is created."""
_SETTINGS = """
listen_addresses = ''
max_connections = 40
shared_buffers = '64MB'
log_min_messages = warning
"""


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class PostgresServer:
    """A server with a socket in its folder, and one of TCP if it `listens`. `stop_at_once` is what a crash of the
    machine does to it."""

    def __init__(self, *, listens: bool = False) -> None:
        import pgserver

        self._programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
        self.folder = Path(tempfile.mkdtemp(prefix="inorder-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.port = _find_free_port() if listens else 5432
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(self.folder, SYSTEM_USER, SYSTEM_USER)
            self._user = {"user": SYSTEM_USER, "group": SYSTEM_USER}
        self._run("initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(_SETTINGS + f"unix_socket_directories = '{self.folder}'\n")
            if listens:
                file.write(f"listen_addresses = '127.0.0.1'\nport = {self.port}\n")
        hosts = self.data / "pg_hba.conf"
        hosts.write_text(f"local all {SECURED} scram-sha-256\n{hosts.read_text()}")
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-l", str(self.folder / "log"), "start")

    def stop_at_once(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")

    def become_standby(self) -> None:
        """Only follow another server, which does not exist: readers are let in, writers are not."""
        self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")
        (self.data / "standby.signal").touch()
        self.start()

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self.stop_at_once()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres", user: str = "postgres", password: str = "") -> str:
        secret = f":{quote(password)}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    def execute(self, query: str, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str) -> str:
        """The address of a new database."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.address(name)

    def _run(self, program: str, *arguments: str) -> None:
        with open(self.folder / "out", "ab") as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                check=False,
                **self._user,
            )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {(self.folder / 'out').read_text(errors='replace')}")
