"""Telemetry of old runs is removed, and nothing else."""

import os
from pathlib import Path

from inorder.host.filesystem import SystemFilesystem
from inorder.watch.retention import FILES_PER_RUN, prune_telemetry

SINCE_MS = 1_700_000_000_000


def write(folder: Path, name: str, written_ms: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).touch()
    os.utime(folder / name, ns=(written_ms * 10**6, written_ms * 10**6))


def test_the_latest_files_and_those_from_before_the_watch_stay(tmp_path: Path) -> None:
    telemetry = tmp_path / "telemetry"
    write(telemetry, "before.jsonl", SINCE_MS - 1)
    write(telemetry, "notes.txt", SINCE_MS)
    for number in range(3 * FILES_PER_RUN):
        write(telemetry, f"{number:02}.jsonl", SINCE_MS + number)
        write(tmp_path / "attempts", f"{number:02}.jsonl", SINCE_MS + number)
        write(tmp_path / "manifests", f"{number:02}.jsonl", SINCE_MS + number)
    prune_telemetry(SystemFilesystem(), str(tmp_path), SINCE_MS, 2)
    kept = [f"{number:02}.jsonl" for number in range(FILES_PER_RUN, 3 * FILES_PER_RUN)]
    assert sorted(os.listdir(telemetry)) == [*kept, "before.jsonl", "notes.txt"]
    assert sorted(os.listdir(tmp_path / "attempts")) == kept
    assert len(os.listdir(tmp_path / "manifests")) == 3 * FILES_PER_RUN


def test_data_without_telemetry_is_left_as_it_is(tmp_path: Path) -> None:
    prune_telemetry(SystemFilesystem(), str(tmp_path), SINCE_MS, 1)
    assert os.listdir(tmp_path) == []
