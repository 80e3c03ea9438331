"""Which targets there are, by the scheme of their address."""

import importlib
from collections.abc import Callable
from typing import NamedTuple

from inorder.errors import OperatorError

from .address import has_scheme
from .base import ExportedDocument, Target, TargetOptions


class TargetKind(NamedTuple):
    """Where the code of a target is. It is imported when the target is used."""

    module: str
    """Has `open_target(address, options)`, and `encode(document)` for workers."""
    title: str


_POSTGRES = TargetKind("inorder.targets.postgres.target", "PostgreSQL with pgvector")
KINDS = {"postgresql": _POSTGRES, "postgres": _POSTGRES}
"""The targets by scheme."""


def is_target(text: str) -> bool:
    """Whether a text is the address of a target, and not that of a folder or an object store."""
    return has_scheme(text) and text.partition("://")[0] in KINDS


def find_kind(address: str) -> TargetKind:
    """The target of an address. Raises OperatorError for an unknown one."""
    scheme = address.partition("://")[0]
    if scheme not in KINDS:
        known = ", ".join(f"{each}://" for each in KINDS)
        raise OperatorError(f"unknown target {address!r}; valid targets: {known}")
    return KINDS[scheme]


def make_target(address: str, options: TargetOptions) -> Target:
    """The target at an address, not yet connected. Raises OperatorError for an unknown one, and ModuleNotFoundError if
    its extra is not installed."""
    target: Target = importlib.import_module(find_kind(address).module).open_target(address, options)
    return target


def find_encode(address: str) -> Callable[[ExportedDocument], bytes]:
    """The function that encodes a document for a target."""
    encode: Callable[[ExportedDocument], bytes] = importlib.import_module(find_kind(address).module).encode
    return encode
