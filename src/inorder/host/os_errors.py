"""Trouble with the operating system, in one line that says what was being done."""

from collections.abc import Iterator
from contextlib import contextmanager

from inorder.errors import InfrastructureError


@contextmanager
def translate_os_errors(doing: str) -> Iterator[None]:
    """Turn an `OSError` into the error of whoever runs the machine."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(f"{doing}: {error}") from error
