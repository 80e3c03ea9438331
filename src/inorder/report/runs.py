"""Which runs DATA has, and which files belong to each.

A run has a `__config__` row in the manifest of its stage once its first item is committed, and a telemetry file from
its start. A process that resumes an interrupted run has a telemetry file of its own, and continues the rows.
"""

import datetime
import os
from collections.abc import Iterable, Sequence

import msgspec

from inorder.errors import OperatorError
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import ConfigRow, find_runs

TELEMETRY_FILES_MAX = 2000
"""Telemetry files that are looked at: the newest."""
STAGE_ORDER = ("doctags", "chunk", "embed", "index")
"""The built-in stages in the order in which they run."""
_HEAD_BYTES = 4096


class TelemetryFile(msgspec.Struct, frozen=True):
    """The telemetry of one process, and what its first line says."""

    path: str
    run_id: str
    stage: str
    started_ms: int
    resumed_at: int | None = None


class StageRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its files."""

    stage: str
    run_id: str
    started_ms: int
    config: ConfigRow | None = None
    """None: the manifest has no row of it."""
    offset: int | None = None
    """Where its rows begin in the manifest."""
    end_offset: int | None = None
    """Where the rows of the next run begin; None: there is no next run."""
    parts: tuple[TelemetryFile, ...] = ()
    is_latest: bool = False

    @property
    def run_ids(self) -> set[str]:
        """The id of the run, and of those that resumed it."""
        return {self.run_id, *(part.run_id for part in self.parts)}


class _RunStarted(msgspec.Struct):
    """The first line of a telemetry file."""

    time: int
    event: str
    stage: str = ""
    run_id: str = ""
    resumed_at: int | None = None


_DECODER = msgspec.json.Decoder(_RunStarted)


def list_stages(data: str) -> list[str]:
    """Return the stages of DATA: the built-in ones in the order of the pipeline, then the others."""
    found = set()
    for folder, suffix in (("manifests", ".jsonl"), ("journal", ".journal")):
        for name in _list_names(f"{data}/{folder}"):
            if name.endswith(suffix) and len(name) > len(suffix):
                found.add(name.removesuffix(suffix))
    return sorted(found, key=lambda name: (STAGE_ORDER.index(name) if name in STAGE_ORDER else len(STAGE_ORDER), name))


def list_runs(data: str, stage: str, files: Iterable[TelemetryFile] | None = None) -> list[StageRun]:
    """Return the runs of a stage, the oldest first. `files`: the telemetry of all stages, if it was listed before."""
    manifest = DataLayout(data, stage).manifest
    configs = sorted(find_runs(manifest), key=lambda found: found[0])
    folders = {os.fspath(folder) for _, config in configs if (folder := config.options.get("telemetry_dir"))}
    known = list_telemetry(data) if files is None else list(files)
    for folder in sorted(folders):
        known = known + _read_folder(folder)
    ours = sorted((file for file in known if file.stage == stage), key=lambda file: file.started_ms)
    by_id = {file.run_id: file for file in ours}
    runs = []
    for number, (offset, config) in enumerate(configs):
        own = by_id.get(config.run_id)
        started_ms = own.started_ms if own is not None else _parse_time(config.started_at)
        end_offset = configs[number + 1][0] if number + 1 < len(configs) else None
        runs.append(
            StageRun(
                stage=stage,
                run_id=config.run_id,
                started_ms=started_ms,
                config=config,
                offset=offset,
                end_offset=end_offset,
                parts=() if own is None else (own,),
            )
        )
    runs = _add_rest(stage, runs, [file for file in ours if file.run_id not in {run.run_id for run in runs}])
    return [*runs[:-1], msgspec.structs.replace(runs[-1], is_latest=True)] if runs else []


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


def list_telemetry(data: str) -> list[TelemetryFile]:
    """Return the telemetry files of DATA, the newest `TELEMETRY_FILES_MAX` of them."""
    return _read_folder(f"{data}/telemetry")


def _read_folder(folder: str) -> list[TelemetryFile]:
    names = [name for name in _list_names(folder) if name.endswith(".jsonl")]
    if len(names) > TELEMETRY_FILES_MAX:
        names.sort(key=lambda name: _measure_age(f"{folder}/{name}"))
        del names[TELEMETRY_FILES_MAX:]
    found = (_read_head(f"{folder}/{name}") for name in sorted(names))
    return [file for file in found if file is not None]


def _read_head(path: str) -> TelemetryFile | None:
    try:
        with open(path, "rb") as file:
            head = _DECODER.decode(file.readline(_HEAD_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not head.stage or not head.run_id:
        return None
    return TelemetryFile(path, head.run_id, head.stage, head.time, head.resumed_at)


def select_runs(data: str, wanted: Sequence[str]) -> list[StageRun]:
    """Return the runs with these ids, or the latest run of every stage. An id may be abbreviated. Raises OperatorError
    if one is unknown or ambiguous."""
    files = list_telemetry(data)
    by_stage = {stage: list_runs(data, stage, files) for stage in list_stages(data)}
    if not wanted:
        return [runs[-1] for runs in by_stage.values() if runs]
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


def _list_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _measure_age(path: str) -> float:
    try:
        return -os.stat(path).st_mtime
    except OSError:
        return 0.0


def _parse_time(text: str) -> int:
    try:
        return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return 0
