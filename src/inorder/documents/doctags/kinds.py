"""The documents of remote sources among the items of the stage `doctags`."""

from collections.abc import Sequence

import msgspec

from inorder.documents.convert.kinds import NOT_FETCHED, find_kind
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.sources.remote_input import RemoteInput, count_group, read_group
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem


def settle_item(item: WorkItem, settings: ConvertSettings) -> WorkItem:
    """Return the item of a document with the kind that the first bytes of its object have. An item that is not remote
    stays the same."""
    source = _find_remote(item)
    if source is None:
        return item
    kind = find_kind(source.path, source.read_head(HEAD_BYTES), settings)
    return msgspec.structs.replace(item, meta={**item.meta, "kind": kind})


def count_remote(items: Sequence[WorkItem]) -> int:
    """How many of these items are fetched at once."""
    return count_group([_find_remote(item) for item in items])


def fetch_remote(items: Sequence[WorkItem], context: StageContext) -> None:
    """Fetch the documents of these items at once."""
    read_group([_find_remote(item) for item in items])


def _find_remote(item: WorkItem) -> RemoteInput | None:
    """The remote document of an item that must be fetched."""
    source = item.inputs.get("document")
    is_fetched = isinstance(source, RemoteInput) and item.meta["kind"] not in (NOT_FETCHED, "empty")
    return source if isinstance(source, RemoteInput) and is_fetched else None
