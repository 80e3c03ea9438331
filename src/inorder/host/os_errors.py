"""Errors of the operating system as `InfrastructureError`."""

from collections.abc import Iterator
from contextlib import contextmanager

from inorder.errors import InfrastructureError


@contextmanager
def translate_os_errors(doing: str) -> Iterator[None]:
    """Raise an `OSError` of the body as `InfrastructureError`, with `doing` as the start of the message."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) not in doing else ""
        raise InfrastructureError(f"{doing}: {error.strerror or error}{where}") from error
