"""The documents of remote sources among the items of the stage `doctags`, and the fetcher that reads them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.documents.convert.kinds import NOT_FETCHED, find_kind
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.engines.base import count_cpus
from inorder.sources.fetching import Fetcher, FetchLimits
from inorder.sources.remote_input import RemoteInput, count_group, get_fetcher, read_group
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageOutcome, WorkItem

_FETCHER = "fetcher"
"""The resource of a worker that reads remote documents."""


class FetcherHooks:
    """Opens a fetcher in every worker process, and one for the threads of the driver. Sent to every worker process,
    without what is open in the driver."""

    def __init__(self, limits: FetchLimits) -> None:
        self._limits = limits
        """The rate is that of all workers together."""
        self._opened: Fetcher | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def open(self, context: StageContext) -> None:
        """Open the fetcher of a worker, which gets its share of the rate."""
        workers, rate = context.options.workers or count_cpus(), self._limits.rate_per_s
        own = msgspec.structs.replace(self._limits, rate_per_s=None if rate is None else rate / workers)
        self._opened = context.resources[_FETCHER] = Fetcher(own)

    def close(self, outcome: StageOutcome) -> None:
        """Close the fetcher of the driver."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def find_fetcher(context: StageContext) -> Fetcher | None:
    """Return the fetcher of this worker; None if the run has no remote sources."""
    found: Fetcher | None = context.resources.get(_FETCHER)
    return found


def settle_item(item: WorkItem, settings: ConvertSettings, context: StageContext) -> WorkItem:
    """Return the item of a document with the kind that the first bytes of its object have. An item that is not remote
    stays the same."""
    source = _find_remote(item)
    if source is None:
        return item
    kind = find_kind(source.path, source.fetch_head(find_fetcher(context) or get_fetcher(), HEAD_BYTES), settings)
    return msgspec.structs.replace(item, meta={**item.meta, "kind": kind})


def count_remote(items: Sequence[WorkItem]) -> int:
    """How many of these items are fetched at once."""
    return count_group([_find_remote(item) for item in items])


def fetch_remote(items: Sequence[WorkItem], context: StageContext) -> None:
    """Fetch the documents of these items at once."""
    read_group([_find_remote(item) for item in items], find_fetcher(context) or get_fetcher())


def _find_remote(item: WorkItem) -> RemoteInput | None:
    """The remote document of an item that must be fetched."""
    source = item.inputs.get("document")
    is_fetched = isinstance(source, RemoteInput) and item.meta["kind"] not in (NOT_FETCHED, "empty")
    return source if isinstance(source, RemoteInput) and is_fetched else None
