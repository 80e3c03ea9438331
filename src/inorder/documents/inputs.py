"""The content of documents, whether a document is a file or has an address.

A document inside another file, or in a remote source, is an `AddressedInput` of its item: it has an address, such as
`docs/box.zip/letters/a.pdf`, and a hash that is known when the plan is made. Each kind of address is a subclass.
"""

import os
from pathlib import PurePath

from inorder.host.regular_file import open_descriptor
from inorder.sources.fetching import Fetcher
from inorder.sources.remote_input import RemoteInput
from inorder.stage.contracts import StageError
from inorder.stage.inputs import AddressedInput, Input, read_content

BYTES_MAX = 2**30
"""The largest document that is read."""


def read_content_of(source: Input, fetcher: Fetcher | None = None) -> bytes:
    """Return the content of a file, or of what has an address. The fetcher reads what is remote. Raises StageError if
    it cannot be read."""
    if not isinstance(source, AddressedInput):
        return read_file(source)
    _check_size(source.size)
    if isinstance(source, RemoteInput) and source.content is None and fetcher is not None:
        return source.fetch(fetcher)
    return read_content(source)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a file. Raises StageError if it is too large."""
    with open(path, "rb", buffering=0, opener=open_descriptor) as file:  # a buffer costs more than a small file
        _check_size(os.fstat(file.fileno()).st_size)
        return file.readall()


def _check_size(size: int) -> None:
    if size > BYTES_MAX:
        raise StageError(f"the file has {size:,} bytes; the limit is {BYTES_MAX:,}", category="input")


def is_there(path: str) -> bool:
    """Whether a document may still exist: its file does, or the file that it is a part of, or its address is remote."""
    return "://" in path or (bool(path) and os.path.lexists(find_file(path)))


def find_file(path: str) -> str:
    """The file at a path, or the file that what has this address is a part of; the path itself if there is neither."""
    if os.path.lexists(path):
        return path
    return next((os.fspath(each) for each in PurePath(path).parents if os.path.isfile(each)), path)
