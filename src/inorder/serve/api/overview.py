"""What is served: the DATA directories, and whether they can be searched."""

import msgspec

from inorder.library.opening import find_index
from inorder.serve.catalog import Catalog
from inorder.version import __version__
from inorder.watch.status import WatchPlace


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class DataSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One DATA."""

    name: str
    path: str
    has_index: bool
    watch: str
    """The state of the watch; empty: there was none."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is served."""

    version: str
    data: list[DataSummary]


def answer_overview(catalog: Catalog, params: NoParams) -> Overview:
    """List what is served."""
    return Overview(version=__version__, data=[_summarize(catalog, name) for name in catalog.names])


def _summarize(catalog: Catalog, name: str) -> DataSummary:
    path = catalog.get(name).path
    watch = WatchPlace(path).read()
    return DataSummary(
        name=name,
        path=path,
        has_index=find_index(path).exists(),
        watch="" if watch is None else watch.state,
    )
