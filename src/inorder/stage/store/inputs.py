"""A result in the store of another stage, as the input of an item."""

import os
from collections.abc import Mapping
from pathlib import Path

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


Input = str | Path | StoredInput


def list_files(inputs: Mapping[str, Input]) -> dict[str, str]:
    """The paths of the inputs that are files, by name."""
    return {name: os.fspath(each) for name, each in inputs.items() if not isinstance(each, StoredInput)}
