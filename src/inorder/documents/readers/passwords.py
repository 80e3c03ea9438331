"""Passwords of encrypted documents, from a file that the user names: one per line.

They are read where documents are read, and nowhere else: items, manifests and logs have the path of the file only.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from inorder.errors import OperatorError

NO_PASSWORDS = "none"
"""The path that means that there is no file."""
BYTES_MAX = 2**20
PASSWORDS_MAX = 1_000
"""Each is tried for every encrypted document."""
_current: ContextVar[tuple[str, ...]] = ContextVar("passwords", default=())


@contextmanager
def use_passwords(path: str) -> Iterator[None]:
    """Let readers try the passwords of a file until the end of the block. Raises `OperatorError` if the file cannot be
    read."""
    token = _current.set(read_passwords(path))
    try:
        yield
    finally:
        _current.reset(token)


def get_passwords() -> tuple[str, ...]:
    """The passwords to try, in the order of the file."""
    return _current.get()


def read_passwords(path: str) -> tuple[str, ...]:
    """The passwords of a file. Raises `OperatorError` if it cannot be read."""
    if path == NO_PASSWORDS:
        return ()
    try:
        return _read(path, os.stat(path).st_mtime_ns)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise OperatorError(f"the password file {path} cannot be read: {reason}") from None


@lru_cache(maxsize=1)
def _read(path: str, mtime_ns: int) -> tuple[str, ...]:
    with open(path, "rb") as file:
        lines = file.read(BYTES_MAX).decode("utf-8-sig").splitlines()
    return tuple(line for line in lines if line)[:PASSWORDS_MAX]
