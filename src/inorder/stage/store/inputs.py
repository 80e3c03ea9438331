"""Inputs that are no local files: results in the store of another stage, and content with an address of its own."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec


class StoredInput(msgspec.Struct, frozen=True):
    """The result of an item of another stage. It stands in `WorkItem.inputs` or `reads` where a path could stand.

    As a path it is the output that the item declares: a name for messages and manifests. There is no such file.
    """

    data: str
    stage: str
    item_id: str
    path: str
    """Relative to DATA."""
    size: int = 0
    sha256: str = ""
    """Empty: there is no such result yet."""
    content: bytes | None = None
    """The content, if it comes with the item: on another machine, or before it is in the store."""

    def __fspath__(self) -> str:
        return f"{self.data}/{self.path}"

    def __str__(self) -> str:
        return os.fspath(self)


class AddressedInput(msgspec.Struct, frozen=True, kw_only=True):
    """Content that is not a file of its own: a member of an archive, an object in a remote store. Subclasses read it.

    It stands in `WorkItem.inputs` where a path could stand. As a path it is its address, which manifests and messages
    show. Its hash is known when the plan is read, so that nothing is read to find out whether the item is up to date.
    """

    is_local: ClassVar[bool] = True
    """Whether it is part of a file on the machine of the driver: then it is sent to nodes that do not see the file."""
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

    @property
    def container(self) -> str:
        """The path of the file that it is a part of; empty: it is not part of a local file."""
        return ""

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def read(self) -> bytes:
        """Read the content. Raises StageError if it cannot be read, or is no longer what the plan has seen."""
        raise NotImplementedError


KnownInput = StoredInput | AddressedInput
"""An input whose size and hash are known when the plan is read."""
Input = str | Path | KnownInput


def list_files(inputs: Mapping[str, Input]) -> dict[str, str]:
    """The paths of the inputs that are files, by name."""
    return {name: os.fspath(each) for name, each in inputs.items() if not isinstance(each, KnownInput)}
