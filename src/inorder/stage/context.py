"""What a worker is given besides its item."""

import os
from pathlib import Path
from typing import Any

from .contracts import StageOptions, WorkItem
from .data_layout import resolve_output
from .fingerprints import list_published

_ENDING_MAX = 40
"""Characters of a file's name that its staged name keeps: some libraries look at the ending. A character has up to four
bytes, and a name at most 255."""
_WARNINGS_MAX = 100


class StageContext:
    """One for every item, and one for the hooks around the stage.

    `resources` is for whatever is opened once and used by many items. With threads it is the same for all of them and
    filled by `before_stage`; with processes every worker has its own, filled by `worker_setup`.
    """

    def __init__(self, stage: str, options: StageOptions, resources: dict[str, Any], staging: str = "") -> None:
        self.stage = stage
        self.options = options
        self.data = Path(options.data)
        self.resources = resources
        self.warnings: list[str] = []
        self.item: WorkItem | None = None
        self._staging = staging
        self._token = ""
        self.delivery: Any = None
        self.removals: list[str] = []
        """Files in DATA that go when the item is committed."""
        self.files: dict[str, str] = {}
        """Where the files of this attempt wait, by the path at which they will be published."""

    def warn(self, message: str) -> None:
        """Something that does not fail the item, and that somebody should know of. It goes into the manifest. Of very
        many the first are kept."""
        if len(self.warnings) < _WARNINGS_MAX:
            self.warnings.append(str(message))
        elif len(self.warnings) == _WARNINGS_MAX:
            self.warnings.append("and more warnings, which are not kept")

    def output(self, name: str) -> Path:
        """Where to write the output of this name. It is published when the item is committed, and not before."""
        if self.item is None or name not in self.item.outputs:
            declared = ", ".join(self.item.outputs) if self.item is not None else ""
            raise KeyError(f"the item declares no output {name!r}, only: {declared or 'none'}")
        return Path(self.staged(resolve_output(os.fspath(self.data), self.item.outputs[name])))

    def deliver(self, value: Any) -> None:
        """Hand something to the sinks of the stage, which get it when the item is committed."""
        self.delivery = value

    def remove(self, path: str | Path) -> None:
        """Have a file in DATA removed when the item is committed; one that is not there is no trouble. The item may be
        done again after that, so it must not need the file."""
        self.removals.append(resolve_output(os.fspath(self.data), path))

    def remove_outputs(self) -> None:
        """Have everything removed that this item has made in earlier runs: there is no such thing any more."""
        if self.item is not None:
            self.removals += list_published(os.fspath(self.data), self.item.outputs)

    def staged(self, relative: str) -> str:
        """Where a file of this attempt waits: under a name that no other attempt ever has, with the same ending."""
        if relative not in self.files:
            self._token = self._token or os.urandom(8).hex()
            ending = relative.rpartition("/")[2][-_ENDING_MAX:]
            self.files[relative] = f"{self._staging}/{self._token}-{len(self.files)}-{ending}"
        return self.files[relative]
