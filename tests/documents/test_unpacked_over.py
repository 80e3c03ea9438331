"""Two reproducible archives, unpacked over each other: files of the same size, time and inode, with other bytes."""

import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from inorder.stage import file_stat
from tests.documents.workspace import PROSE, Workspace
from tests.support.in_process import run_in_process
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.process, pytest.mark.req("RUN-17")]

EPOCH_S = 1_700_000_000
HOUR_S = 3600
LATER = f"""
import time
from inorder.stage import file_stat
file_stat.time_ns = lambda: time.time_ns() + {HOUR_S * 10**9}
"""
CODE = "docs/release.py"
DOCUMENT = "docs/notes.md"


def unpack(workspace: Workspace, version: str) -> None:
    texts = {CODE: f'RELEASE = "release {version}"\n', DOCUMENT: f"# Notes\n\nThis is release {version}. {PROSE * 9}\n"}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in texts.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text), EPOCH_S
            archive.addfile(entry, io.BytesIO(text.encode()))
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        archive.extractall(workspace.folder, filter="data")


def signatures(workspace: Workspace) -> list[tuple[int, ...]]:
    found = [os.stat(workspace.folder / name) for name in (CODE, DOCUMENT)]
    return [(stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in found]


def ask(workspace: Workspace, *arguments: str, expected: int = 0) -> Any:
    command = (*arguments, "--data", str(workspace.data), "--json")
    code, out, err = run_in_process(command, workspace.folder, dict(os.environ))
    assert code == expected, err
    return json.loads(out)


def found_versions(workspace: Workspace) -> set[str]:
    hits = ask(workspace, "search", "release", "--mode", "lexical")["hits"]
    return {word.strip('".') for hit in hits for word in hit["text"].split() if word.strip('".').startswith("1.0.")}


def verdicts(workspace: Workspace, path: str) -> dict[str, tuple[str, str]]:
    stages = ask(workspace, "explain", path)["stages"]
    return {stage["stage"]: (stage["verdict"], stage["reason"]) for stage in stages if stage["verdict"] != "absent"}


@pytest.mark.parametrize("age_s", [0, HOUR_S], ids=["just unpacked", "an hour later"])
def test_the_results_are_those_of_the_second_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_s: int
) -> None:
    """An hour later the files are old enough for the cache of hashes; before, they are read again anyway."""
    workspace = Workspace(tmp_path)
    environment = {}
    if age_s:
        monkeypatch.setattr(file_stat, "time_ns", lambda: time.time_ns() + age_s * 10**9)
        (tmp_path / "sitecustomize.py").write_text(LATER)
        environment = {"PYTHONPATH": prepend_path(tmp_path)}
    unpack(workspace, "1.0.1")
    before = signatures(workspace)
    workspace.run(**environment)
    assert [stage["succeeded"] for stage in workspace.run(**environment)["stages"]] == [0, 0, 0, 0]
    assert found_versions(workspace) == {"1.0.1"}
    assert ask(workspace, "verify")["problems"] == []

    unpack(workspace, "1.0.2")
    assert signatures(workspace) == before
    assert verdicts(workspace, DOCUMENT)["doctags"] == ("process", "its input has changed")
    assert verdicts(workspace, CODE)["index"] == ("process", "it has changed, or was never done")
    planned = {(item["stage"], item["item_id"]): item["verdict"] for item in ask(workspace, "plan")["items"]}
    assert (planned["doctags", DOCUMENT], planned["index", CODE]) == ("process", "process")
    problems = ask(workspace, "verify", expected=6)["problems"]
    assert [(problem["kind"], problem["stage"], problem["path"]) for problem in problems] == [
        ("outdated", "doctags", str(workspace.folder / DOCUMENT)),
        ("outdated", "index", str(workspace.folder / CODE)),
    ]

    workspace.run(**environment)
    assert found_versions(workspace) == {"1.0.2"}
    assert ask(workspace, "verify")["problems"] == []
    assert {verdict for verdict, _ in verdicts(workspace, DOCUMENT).values()} == {"skip"}
