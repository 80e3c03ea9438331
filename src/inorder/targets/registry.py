"""Which targets there are, by the scheme of their address."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from inorder.errors import OperatorError
from inorder.extensions.registry import Plugin, Registry
from inorder.files.addresses import PROTOCOLS

if TYPE_CHECKING:
    from inorder.index.search import SearchAnswer, SearchOptions

from .address import has_scheme
from .base import ExportedDocument, Target, TargetOptions, encode_document


class TargetKind(NamedTuple):
    """Where the code of a target is. It is imported when the target is used."""

    module: str
    """Has `open_target(address, options)`, `encode(document)` for workers, and perhaps `check_address(address)`,
    which asks a server."""
    title: str
    search_module: str = ""
    """Has `search(address, collection, question, options)`; empty: the target cannot be searched."""
    plugin: Plugin | None = None
    """Has what the module has: `encode`, `check_address` and `search` may be missing."""


_POSTGRES = TargetKind("inorder.targets.postgres.target", "PostgreSQL with pgvector", "inorder.targets.postgres.search")
KINDS = {
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "duckdb": TargetKind("inorder.targets.duckdb", "DuckDB"),
    "lance": TargetKind("inorder.targets.lance", "Lance"),
    "qdrant": TargetKind("inorder.targets.qdrant", "Qdrant"),
}
"""The targets that are built in, by scheme."""
TABLE = Registry("targets", KINDS, lambda plugin: TargetKind("", str(plugin), plugin=plugin))
"""All targets: those above, and plug-ins."""


def is_target(text: str) -> bool:
    """Whether a text is the address of a target, and not that of a folder or an object store."""
    scheme = text.partition("://")[0]
    return has_scheme(text) and (scheme in KINDS or (scheme not in PROTOCOLS and TABLE.find(scheme) is not None))


def find_kind(address: str) -> TargetKind:
    """The target of an address. Raises OperatorError for an unknown one."""
    scheme = address.partition("://")[0]
    found = TABLE.find(scheme)
    if found is None:
        known = ", ".join(f"{each}://" for each in KINDS)
        raise OperatorError(f"unknown target {address!r}; valid targets: {known}, and plug-ins (see `inorder plugins`)")
    return found


def make_target(address: str, options: TargetOptions) -> Target:
    """The target at an address, not yet connected. Raises OperatorError for an unknown one, and ModuleNotFoundError if
    its extra is not installed."""
    target: Target = _load(find_kind(address)).open_target(address, options)
    return target


def _load(kind: TargetKind) -> Any:
    return importlib.import_module(kind.module) if kind.plugin is None else kind.plugin.load()


def check_target(address: str) -> None:
    """Raise what a later export would raise about an address or a password, where the target can tell without an index:
    a run should not take hours before it says so."""
    make_target(address, TargetOptions())
    check = getattr(_load(find_kind(address)), "check_address", None)
    if check is not None:
        check(address)


def find_encode(address: str) -> Callable[[ExportedDocument], bytes]:
    """The function that encodes a document for a target."""
    encode: Callable[[ExportedDocument], bytes] = getattr(_load(find_kind(address)), "encode", encode_document)
    return encode


def search_target(address: str, collection: str, question: str, options: "SearchOptions") -> "SearchAnswer":
    """Answer a question from what was exported to a target. Raises OperatorError for one that cannot be searched."""
    kind = find_kind(address)
    loaded = importlib.import_module(kind.search_module) if kind.search_module else kind.plugin and kind.plugin.load()
    if loaded is None or not hasattr(loaded, "search"):
        raise OperatorError(f"{address}: search in {kind.title} is not supported; search DATA instead")
    answer: SearchAnswer = loaded.search(address, collection, question, options)
    return answer
