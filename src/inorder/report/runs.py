"""Which runs DATA has, and which files belong to each.

A run has a `__config__` row in the manifest of its stage once its first item is committed, and a telemetry file from
its start. A run of the pipeline that finds nothing to do has neither: only the library knows it. A process that resumes
an interrupted run has a telemetry file of its own, and continues the rows.
"""

import datetime
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import pairwise

import msgspec

from inorder.errors import InorderError, OperatorError
from inorder.library.connection import library_path
from inorder.library.reader import LibraryReader, LibraryRun
from inorder.pipeline.names import MANIFESTS, PASSES, RUN
from inorder.stage.data_layout import DataLayout
from inorder.stage.data_layout import list_stages as list_recorded_stages
from inorder.stage.manifest.reader import ConfigRow, find_runs
from inorder.stage.monitor.latest import TelemetryFile, list_telemetry

"""The passes of the pipeline, in the order in which they run."""


class RowRange(msgspec.Struct, frozen=True):
    """The rows of a run in a manifest."""

    path: str
    start: int
    end: int | None = None
    """Where the rows of the next run begin; None: there is no next run."""
    step: str = ""
    """The step of the pipeline that it is the manifest of; empty: it is that of a stage."""


class StageRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its files."""

    stage: str
    run_id: str
    started_ms: int
    outcome: bytes = b""
    """What a run of the pipeline did, as the library has it; empty: it has published nothing."""
    config: ConfigRow | None = None
    """None: the manifest has no row of it."""
    rows: tuple[RowRange, ...] = ()
    """Where its rows are: in one manifest, or in that of each step."""
    parts: tuple[TelemetryFile, ...] = ()
    is_latest: bool = False

    @property
    def is_pass(self) -> bool:
        """Whether it is a pass of the pipeline, whose items are files."""
        return self.stage in PASSES

    @property
    def run_ids(self) -> set[str]:
        """The id of the run, and of those that resumed it."""
        return {self.run_id, *(part.run_id for part in self.parts)}


def list_stages(data: str) -> list[str]:
    """Return the passes of the pipeline in their order, then the stages of users."""
    found = set(list_recorded_stages(data))
    if RUN in found:
        found -= set(MANIFESTS)
    return sorted(found, key=lambda name: (PASSES.index(name) if name in PASSES else len(PASSES), name))


def list_runs(data: str, stage: str, files: Iterable[TelemetryFile]) -> list[StageRun]:
    """Return the runs of a stage, the oldest first. `files` is the telemetry of all stages."""
    found = _find_pass_runs(data, stage) if stage in PASSES else _find_stage_runs(data, stage)
    folders = {os.fspath(folder) for config, _ in found if (folder := config.options.get("telemetry_dir"))}
    known = [*files, *(file for folder in sorted(folders) for file in list_telemetry(folder))]
    ours = sorted((file for file in known if file.stage == stage), key=lambda file: file.started_ms)
    by_id = {file.run_id: file for file in ours}
    runs = []
    for config, rows in found:
        own = by_id.get(config.run_id)
        started_ms = own.started_ms if own is not None else _parse_time(config.started_at)
        runs.append(
            StageRun(
                stage=stage,
                run_id=config.run_id,
                started_ms=started_ms,
                config=config,
                rows=rows,
                parts=() if own is None else (own,),
            )
        )
    runs = _add_rest(stage, runs, [file for file in ours if file.run_id not in {run.run_id for run in runs}])
    if stage == RUN:
        runs = _add_outcomes(data, runs)
    return [*runs[:-1], msgspec.structs.replace(runs[-1], is_latest=True)] if runs else []


def _find_stage_runs(data: str, stage: str) -> list[tuple[ConfigRow, tuple[RowRange, ...]]]:
    """The runs of a stage with their rows, the oldest first."""
    manifest = DataLayout(data, stage).manifest
    return [(config, (rows,)) for config, rows in _list_ranges(manifest)]


def _find_pass_runs(data: str, name: str) -> list[tuple[ConfigRow, tuple[RowRange, ...]]]:
    """The runs of a pass of the pipeline with their rows, which are in the manifests of the steps."""
    found: dict[str, tuple[ConfigRow, tuple[RowRange, ...]]] = {}
    for manifest, step in MANIFESTS.items():
        for config, rows in _list_ranges(DataLayout(data, manifest).manifest, step):
            if config.pass_ == name:
                first, earlier = found.get(config.run_id, (config, ()))
                found[config.run_id] = first, (*earlier, rows)
    return list(found.values())


def _list_ranges(manifest: str, step: str = "") -> list[tuple[ConfigRow, RowRange]]:
    configs = find_runs(manifest)
    ends = dict(pairwise(offset for offset, _ in configs))
    return [(config, RowRange(manifest, offset, ends.get(offset), step)) for offset, config in configs]


def _add_rest(stage: str, runs: list[StageRun], rest: Sequence[TelemetryFile]) -> list[StageRun]:
    """Add telemetry without a `__config__` row: of a process that resumed a run, or of a run without a commit."""
    for file in rest:
        if file.resumed_at is not None:
            earlier = [place for place, run in enumerate(runs) if run.started_ms <= file.started_ms]
            if earlier:
                run = runs[earlier[-1]]
                runs[earlier[-1]] = msgspec.structs.replace(run, parts=(*run.parts, file))
                continue
        runs.append(StageRun(stage=stage, run_id=file.run_id, started_ms=file.started_ms, parts=(file,)))
        runs.sort(key=lambda run: run.started_ms)
    return runs


def _add_outcomes(data: str, runs: Sequence[StageRun]) -> list[StageRun]:
    """Add what each run did, and the runs that found nothing to do: only the library has them."""
    found = {run.run_id: run for run in runs}
    for run_id, began_at, outcome in list_library_runs(data):
        if outcome:
            known = found.get(run_id, StageRun(stage=RUN, run_id=run_id, started_ms=int(began_at * 1000)))
            found[run_id] = msgspec.structs.replace(known, outcome=outcome)
    return sorted(found.values(), key=lambda run: run.started_ms)


def list_library_runs(data: str) -> list[LibraryRun]:
    """Return the runs of the pipeline that the library has, the latest first; none if it cannot be read."""
    if not os.path.exists(library_path(data)):
        return []
    try:
        with closing(LibraryReader(data)) as library:
            return library.list_runs()
    except InorderError:
        return []


def select_runs(data: str, wanted: Sequence[str]) -> list[StageRun]:
    """Return the runs with these ids, or the latest run of every stage. An id may be abbreviated. Raises OperatorError
    if one is unknown or ambiguous."""
    files = list_telemetry(f"{data}/telemetry")
    by_stage = {stage: list_runs(data, stage, files) for stage in list_stages(data)}
    if not wanted:
        latest = {stage: runs[-1] for stage, runs in by_stage.items() if runs}
        for name in PASSES:
            if {RUN, name} <= latest.keys() and latest[name].started_ms < latest[RUN].started_ms:
                del latest[name]  # it belongs to an earlier run
        return list(latest.values())
    known = [run for runs in by_stage.values() for run in runs]
    found = []
    for prefix in wanted:
        matching = [run for run in known if any(run_id.startswith(prefix) for run_id in run.run_ids)]
        if len(matching) != 1:
            problem = f"is ambiguous: {', '.join(run.run_id for run in matching)}" if matching else "is not in DATA"
            recent = sorted(known, key=lambda run: -run.started_ms)[:5]
            names = ", ".join(f"{run.run_id} ({run.stage})" for run in recent) or "none"
            raise OperatorError(f"the run {prefix!r} {problem}; the latest runs: {names}")
        found.append(matching[0])
    return found


def _parse_time(text: str) -> int:
    try:
        return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return 0
