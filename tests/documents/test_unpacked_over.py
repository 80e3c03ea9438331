"""Two reproducible archives, unpacked over each other: files of the same size, time and inode, with other bytes."""

import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from inorder.stage.files import file_stat
from tests.documents.workspace import PROSE, Workspace
from tests.support.in_process import run_in_process
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.process, pytest.mark.req("RUN-17")]

EPOCH_S = 1_700_000_000
HOUR_S = 3600
LATER = f"""
import time
from inorder.stage.files import file_stat
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


def explain(workspace: Workspace, path: str) -> dict[str, tuple[str, str]]:
    """What would happen to a file, and why, by step."""
    steps = ask(workspace, "explain", path)["file"]["steps"]
    return {step["step"]: (step["verdict"], step["reason"]) for step in steps}


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
    assert workspace.run(**environment)["steps"] == {}
    assert found_versions(workspace) == {"1.0.1"}
    assert ask(workspace, "verify")["problems"] == []

    unpack(workspace, "1.0.2")
    assert signatures(workspace) == before
    assert explain(workspace, DOCUMENT)["doctags"] == ("process", "the content has changed")
    assert explain(workspace, CODE)["index"] == ("process", "the content has changed")
    planned = {file["item_id"]: file["class"] for file in ask(workspace, "plan")["files"]}
    assert planned == {DOCUMENT: "changed", CODE: "changed"}
    workspace.run(**environment)
    assert found_versions(workspace) == {"1.0.2"}
    assert ask(workspace, "verify")["problems"] == []
    assert ask(workspace, "plan")["files"] == []
