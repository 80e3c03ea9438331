"""Which targets there are, by the scheme of their address."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from inorder.errors import OperatorError

if TYPE_CHECKING:
    from inorder.index.search import SearchAnswer, SearchOptions

from .address import has_scheme
from .base import ExportedDocument, Target, TargetOptions


class TargetKind(NamedTuple):
    """Where the code of a target is. It is imported when the target is used."""

    module: str
    """Has `open_target(address, options)`, `encode(document)` for workers, and perhaps `check_address(address)`,
    which asks a server."""
    title: str
    search_module: str = ""
    """Has `search(address, collection, question, options)`; empty: the target cannot be searched."""


_POSTGRES = TargetKind("inorder.targets.postgres.target", "PostgreSQL with pgvector", "inorder.targets.postgres.search")
KINDS = {
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "duckdb": TargetKind("inorder.targets.duckdb", "DuckDB"),
    "lance": TargetKind("inorder.targets.lance", "Lance"),
    "qdrant": TargetKind("inorder.targets.qdrant", "Qdrant"),
}
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


def check_target(address: str) -> None:
    """Raise what a later export would raise about an address or a password, where the target can tell without an index:
    a run should not take hours before it says so."""
    make_target(address, TargetOptions())
    check = getattr(importlib.import_module(find_kind(address).module), "check_address", None)
    if check is not None:
        check(address)


def find_encode(address: str) -> Callable[[ExportedDocument], bytes]:
    """The function that encodes a document for a target."""
    encode: Callable[[ExportedDocument], bytes] = importlib.import_module(find_kind(address).module).encode
    return encode


def search_target(address: str, collection: str, question: str, options: "SearchOptions") -> "SearchAnswer":
    """Answer a question from what was exported to a target. Raises OperatorError for one that cannot be searched."""
    module = find_kind(address).search_module
    if not module:
        raise OperatorError(f"{address}: search in {find_kind(address).title} is not supported; search DATA instead")
    answer: SearchAnswer = importlib.import_module(module).search(address, collection, question, options)
    return answer
