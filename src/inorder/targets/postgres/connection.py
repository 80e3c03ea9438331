"""Connections to a server, and its errors as ours.

The password of an address is not part of it: see `inorder.host.credentials`. libpq also reads PGPASSWORD, `~/.pgpass`
and service files. No message of ours has a password, because none of those of libpq has one.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from inorder.errors import BusyError, InfrastructureError, IntegrityError, OperatorError
from inorder.host.credentials import find_credentials

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_S = 10
WAIT_S = 60.0
"""How long to wait for a server that has gone away."""
LOCK_S = 30
"""How long to wait for a table that another session has locked."""
_NAME_MAX = 63
"""Characters that a server keeps of the name of an application."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
_OPERATOR_PHRASES = (
    "password authentication failed",
    "no password supplied",
    "does not exist",
    "no pg_hba.conf entry",
    "could not translate host name",
    "failed to resolve host",
    "role ",
    "permission denied",
    "invalid ",
    "SSL",
    "certificate",
    "definition of service",
)
"""In a message about a failed connection: the address or the rights must be changed, and waiting does not help."""
_GONE = ("08", "57P01", "57P02", "57P03")
"""States in which the connection is lost, or the server stops or starts."""


class ServerGone(Exception):
    """The connection was lost. The last transaction may or may not be committed."""


def connect(address: str) -> Connection:
    """A connection in which every statement is a transaction of its own, unless one is begun. Raises OperatorError for
    an address that cannot be used, and InfrastructureError for a server that cannot be reached."""
    known = find_credentials(address)
    given = {"password": known.find_password(), "sslpassword": known.find_parameter("sslpassword")}
    secrets: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        connection: Connection = psycopg.connect(
            address,
            autocommit=True,
            connect_timeout=CONNECT_S,
            application_name=f"inorder, process {os.getpid()} on {socket.gethostname()}"[:_NAME_MAX],
            client_encoding="UTF8",
            **secrets,
        )
    except psycopg.Error as error:
        problem = _get_last_line(error)
        if isinstance(error, psycopg.ProgrammingError) or any(phrase in problem for phrase in _OPERATOR_PHRASES):
            raise OperatorError(f"{address}: cannot connect: {problem}") from None
        raise InfrastructureError(f"{address}: cannot connect: {problem}") from None
    connection.execute(f"SET lock_timeout = '{LOCK_S}s'")
    connection.execute("SET statement_timeout = 0")
    return connection


@contextmanager
def translate_errors(address: str, doing: str) -> Iterator[None]:
    """Raise an error of the server as ours, or as `ServerGone`."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_error(error, address, doing) from None


def translate_error(error: psycopg.Error, address: str, doing: str) -> Exception:
    """The error to raise for one of the server."""
    state = error.sqlstate or ""
    problem = _get_last_line(error)
    if state.startswith(_GONE) or (not state and isinstance(error, psycopg.OperationalError)):
        return ServerGone(problem)
    if state == "42501":
        return OperatorError(f"{address}: {doing}: {problem}; ask its owner for the right, or use another user")
    if state == "25006":
        return OperatorError(f"{address}: {doing}: the server or the user is read-only ({problem})")
    if state == "55P03":
        return BusyError(f"{address}: {doing}: another session has locked a table for more than {LOCK_S} s")
    if state == "53100":
        return InfrastructureError(f"{address}: {doing}: the disk of the server is full ({problem}); run again after")
    if state.startswith("53") or state[:2] in ("40", "57", "58"):
        return InfrastructureError(f"{address}: {doing}: {problem}; run again to resume")
    if state.startswith("XX"):
        return IntegrityError(f"{address}: {doing}: {problem}")
    return OperatorError(f"{address}: {doing}: {problem}")


def _get_last_line(error: psycopg.Error) -> str:
    """What went wrong. A failed connection has one line per address of the host that was tried."""
    primary = error.diag.message_primary
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "Is the server running" not in line]
    problem = primary or (lines[-1] if lines else type(error).__name__)
    return problem.removeprefix("- ").removeprefix("connection failed: ")


def wait_for_server(name: str, reconnect: Callable[[], T]) -> T:
    """Repeat `reconnect` until the server answers. Raises InfrastructureError if it does not within `WAIT_S`."""
    end_s, pause_s = time.monotonic() + WAIT_S, _FIRST_PAUSE_S
    while True:
        try:
            return reconnect()
        except (InfrastructureError, ServerGone) as error:
            if time.monotonic() + pause_s > end_s:
                raise InfrastructureError(
                    f"{name}: the server has not answered for {WAIT_S:.0f} s ({error}); run again to resume"
                ) from None
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LAST_PAUSE_S)
