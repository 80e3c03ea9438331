"""What DATA holds: the files of the library, their history and the sizes on disk."""

import os
from contextlib import closing, suppress

from inorder.errors import InorderError
from inorder.host.spelling import spell
from inorder.library.connection import find_library_problem, library_path
from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import decode_outcome
from inorder.pipeline.state import describe_files, read_state

from .contents import summarize_step
from .model import HISTORY_MAX, DatasetReport, FilePoint, LibraryContents


def build_dataset(data: str) -> DatasetReport:
    """Describe the contents of DATA."""
    bytes_total = sum(folder["bytes"] for folder in measure_folders(data).values())
    problem = find_library_problem(data)
    return DatasetReport(
        library=_describe_library(data),
        bytes_total=bytes_total,
        problem="" if problem is None else spell(str(problem)),
    )


def _describe_library(data: str) -> LibraryContents | None:
    """What the pipeline has made; None: there is no library, or it cannot be read."""
    if not os.path.exists(library_path(data)):
        return None
    try:
        state = read_state(data)
        steps = {step: summarize_step(data, step) for step in state.steps}
        with closing(LibraryReader(data)) as library:
            runs = library.list_runs()
    except InorderError:
        return None
    return LibraryContents(
        line=describe_files(state),
        published_ms=int(state.published_at * 1000),
        steps=steps,
        history=[
            FilePoint(run_id=run.run_id, began_ms=int(run.began_at * 1000), counts=outcome.counts)
            for run in runs[:HISTORY_MAX]
            if (outcome := decode_outcome(run.outcome)) is not None
        ],
        runs=len(runs),
    )


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
