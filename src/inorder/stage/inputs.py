"""Inputs that are no local files: content with an address of its own."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec

from inorder.host.regular_file import read_regular


class AddressedInput(msgspec.Struct, frozen=True, kw_only=True):
    """Content that is not a file of its own: a member of an archive, an object in a remote store. Subclasses read it.

    It stands in `WorkItem.inputs` where a path could stand. As a path it is its address, which manifests and messages
    show. Its hash is known when the plan is read, so that nothing is read to find out whether the item is up to date.
    """

    is_local: ClassVar[bool] = True
    """Whether it is part of a file on the machine of the driver: then it is sent to nodes that do not see the file."""
    is_sent: ClassVar[bool] = False
    """Whether it is sent to all nodes, also to those that see the driver's files: nobody else reads it."""
    address: str
    sha256: str
    """Identifies the content: a hash of what changes whenever the content does. Not necessarily that of its bytes."""
    size: int = 0
    content: bytes | None = None
    """The content, if it comes with the item."""

    @property
    def batch_key(self) -> str:
        """The key of items that a worker should process together, in order; empty: the order does not matter."""
        return ""

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def read(self) -> bytes:
        """Read the content. Raises StageError if it cannot be read, or is no longer what the plan has seen."""
        raise NotImplementedError


Input = str | Path | AddressedInput


def list_files(inputs: Mapping[str, Input]) -> dict[str, str]:
    """The paths of the inputs that are files, by name."""
    return {name: os.fspath(each) for name, each in inputs.items() if not isinstance(each, AddressedInput)}


def read_content(source: Input) -> bytes:
    """Return the content of an input. Raises StageError if one that is not a file cannot be read, or has changed since
    the plan was read."""
    if isinstance(source, AddressedInput):
        return source.read() if source.content is None else source.content
    return read_regular(source)
