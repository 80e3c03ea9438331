"""Failures that are certain to happen again, because nothing that they depend on has changed."""

import datetime
import os

from inorder.errors import Category
from inorder.host.filesystem import SystemFilesystem
from inorder.runtime.recovery import read_journal
from inorder.stage.contracts import WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import ConfigRow, ManifestRow, find_last_run, read_rows
from inorder.stage.store.inputs import AddressedInput, Input, StoredInput
from inorder.version import __version__

_NS_PER_MS = 1_000_000


class KnownFailures:
    """The items whose input was at fault in the latest run of a stage. Other failures may have passed. Of the stages of
    others none is known: their code may have changed."""

    def __init__(self, layout: DataLayout, entry: str) -> None:
        self._started_ms = 0
        self._rows: dict[str, ManifestRow] = {}
        found = find_last_run(layout.manifest)
        if found is None or found[1].version != __version__ or not entry.startswith("inorder."):
            return
        self._started_ms = _find_start(layout, found[1])
        for _, row in read_rows(layout.manifest, found[0]):
            if row.error is not None and row.error.category == Category.INPUT:
                self._rows[row.doc_id] = row

    def find(self, item: WorkItem, item_id: str) -> str:
        """The error of an item that would fail again: it has the same configuration, and its inputs have not changed
        since the start of the run in which it failed. Empty: that is not certain."""
        row = self._rows.get(item_id)
        if row is None or row.error is None or row.cfg_hash != item.cfg_hash or not item.inputs:
            return ""
        files = [*map(_find_file, item.inputs.values())]
        if not all(files):
            return ""
        try:
            changed_ns = max(os.stat(path).st_ctime_ns for path in files)
        except OSError:
            return ""
        return row.error.message if changed_ns < self._started_ms * _NS_PER_MS else ""


def _find_file(source: Input) -> str:
    """The file that an input is, or is a part of; empty: it is neither."""
    if isinstance(source, AddressedInput):
        return source.container
    return "" if isinstance(source, StoredInput) else os.fspath(source)


def _find_start(layout: DataLayout, config: ConfigRow) -> int:
    """When a run started, in milliseconds since the epoch. The manifest has whole seconds, the journal more."""
    if os.path.exists(layout.journal):
        header = read_journal(SystemFilesystem(), layout.journal)[1].header
        if header is not None and header.run_id == config.run_id:
            return header.created_ms
    try:
        return int(datetime.datetime.fromisoformat(config.started_at).timestamp() * 1000)
    except ValueError:
        return 0
