"""What DATA holds: the files of the library, their history and the sizes on disk."""

import os
from contextlib import closing, suppress

from inorder.errors import InorderError
from inorder.library.connection import library_path
from inorder.library.reader import LibraryReader, LibraryRun
from inorder.pipeline.outcome import FileCounts, decode_outcome
from inorder.pipeline.state import describe_files, read_state
from inorder.stage.sources import quote_id

from .contents import summarize_step
from .model import (
    ROWS_MAX,
    DatasetReport,
    FilePoint,
    LibraryContents,
    SourceContents,
    StepContents,
)


def build_dataset(data: str) -> DatasetReport:
    """Describe the contents of DATA."""
    bytes_total = sum(folder["bytes"] for folder in measure_folders(data).values())
    return DatasetReport(library=_describe_library(data), bytes_total=bytes_total)


def _describe_library(data: str) -> LibraryContents | None:
    """What the pipeline has made; None: there is no library, or it cannot be read."""
    if not os.path.exists(library_path(data)):
        return None
    try:
        state = read_state(data)
        steps = [
            StepContents(step=step, done=found.done, failed=found.failed, contents=summarize_step(data, step))
            for step, found in state.steps.items()
        ]
        with closing(LibraryReader(data)) as library:
            runs = library.list_runs()
            files = library.count_by_source()
            sources = [
                SourceContents(name=each.name, location=each.path, files=files.get(quote_id(each.name), 0))
                for each in library.list_sources()
            ]
    except InorderError:
        return None
    return LibraryContents(
        line=describe_files(state),
        sources=sources[:ROWS_MAX],
        generation=state.generation,
        published_ms=int(state.published_at * 1000),
        steps=steps,
        history=[_describe_run(run) for run in reversed(runs[:ROWS_MAX])],
        runs=len(runs),
    )


def _describe_run(run: LibraryRun) -> FilePoint:
    outcome = decode_outcome(run.outcome)
    counts = FileCounts() if outcome is None else outcome.counts
    return FilePoint(run_id=run.run_id, began_ms=int(run.began_at * 1000), counts=counts)


def measure_folders(data: str) -> dict[str, dict[str, int]]:
    """Return `files` and `bytes` of each folder of DATA that has files; `.` are those directly in DATA. Files that
    disappear meanwhile do not count."""
    found: dict[str, dict[str, int]] = {}
    pending = [(data, ".")]  # no recursion: folders may be nested deeper than the stack allows
    while pending:
        folder, top = pending.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, entry.name if top == "." else top))
                    continue
                with suppress(FileNotFoundError):
                    size = entry.stat(follow_symlinks=False).st_size
                    sums = found.setdefault(top, {"files": 0, "bytes": 0})
                    sums["files"] += 1
                    sums["bytes"] += size
    return dict(sorted(found.items()))
