"""What DATA holds: the contents of each stage, its history and the sizes on disk."""

import os
from collections import Counter

from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import decode_config, read_lines

from .contents import StageTotals, summarize_stage
from .model import ROWS_MAX, DatasetReport, DiskUsage, RunPoint, StageContents
from .runs import list_stages

_FOLDERS = {
    "store": "results in stores",
    "manifests": "manifests",
    "journal": "journals",
    "telemetry": "telemetry",
    "attempts": "attempt logs",
    "cache": "hashes of files",
    ".staging": "results that are not committed",
    "locks": "locks",
    ".": "files directly in DATA",
}


def build_dataset(data: str) -> DatasetReport:
    """Describe the contents of DATA."""
    disk = _measure(data)
    return DatasetReport(
        stages=[_describe_stage(data, stage) for stage in list_stages(data)],
        disk=disk[:ROWS_MAX],
        bytes_total=sum(usage.bytes for usage in disk),
    )


def _describe_stage(data: str, stage: str) -> StageContents:
    manifest = DataLayout(data, stage).manifest
    statuses, history = ItemStatuses(), _History()
    for line in read_lines(manifest):
        if line.row is None:
            continue
        statuses.add(line, line.row)
        if line.row.is_config:
            config = decode_config(line)
            history.start(config.run_id if config else "", config.started_at if config else "")
        else:
            history.add("removed" if line.row.is_removed else line.row.status)
    has_contents = os.path.exists(manifest)
    totals = summarize_stage(data, stage, statuses) if has_contents else StageTotals(statuses.count_by_status(), {}, {})
    return StageContents(
        stage=stage,
        items=totals.items,
        contents=totals.contents,
        history=history.list_points(),
        runs=history.runs,
    )


class _History:
    """The outcomes of each run of a manifest."""

    def __init__(self) -> None:
        self.runs = 0
        self._points: list[RunPoint] = []
        self._head = ("", "")
        self._counts: Counter[str] = Counter()

    def start(self, run_id: str, started_at: str) -> None:
        """A run begins."""
        self._close()
        self.runs += 1
        self._head = run_id, started_at

    def add(self, status: str) -> None:
        """A row of the run."""
        self._counts[status] += 1

    def list_points(self) -> list[RunPoint]:
        """The latest runs, the oldest of them first."""
        self._close()
        return self._points[-ROWS_MAX:]

    def _close(self) -> None:
        counts, self._counts = self._counts, Counter()
        if self._head == ("", ""):
            return
        point = RunPoint(
            run_id=self._head[0],
            started_at=self._head[1],
            succeeded=counts["success"],
            skipped=counts["skip"],
            failed=counts["failure"],
            items=counts["success"] + counts["skip"],
        )
        self._head = ("", "")
        self._points = [*self._points[-ROWS_MAX:], point]


def _measure(data: str) -> list[DiskUsage]:
    """Files and bytes of each folder of DATA, the largest first. Files that disappear meanwhile do not count."""
    sums: dict[str, list[int]] = {}
    for folder, _, names in os.walk(data):
        relative = os.path.relpath(folder, data)
        top = relative.split(os.sep)[0]
        found = sums.setdefault(_FOLDERS.get(top, top), [0, 0])
        for name in names:
            try:
                size = os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
            found[0] += 1
            found[1] += size
    usages = [DiskUsage(name=name, files=files, bytes=size) for name, (files, size) in sums.items() if files]
    return sorted(usages, key=lambda usage: -usage.bytes)
