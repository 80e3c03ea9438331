"""Manifests in which one line stands for rows that repeat: every command answers as if all rows were written."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inorder.serve.statuses import open_table
from inorder.sinks import packed_lines
from inorder.stage import file_stat
from inorder.stage.manifest.rows import VOLATILE_FIELDS
from inorder.stage.unchanged import spliced_manifest
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("RUN-7", "CLI-7")
STAGES = ("doctags", "chunk", "embed", "index")
EXPLAINED = ("docs/03.md", "docs/05.md", "docs/05a.md", "docs/11.md", "docs/99.md")


def edit(docs: Path) -> None:
    write(docs / "03.md", "Another title")


def move(docs: Path) -> None:
    """Delete the first and the last document, rename another one, and add one."""
    (docs / "00.md").unlink()
    (docs / "11.md").unlink()
    (docs / "05.md").rename(docs / "05a.md")
    write(docs / "99.md", "Added")


def leave(docs: Path) -> None:
    """A run without a change."""


def edit_again(docs: Path) -> None:
    write(docs / "07.md", "Yet another title")


CHANGES: list[Callable[[Path], None]] = [leave, edit, move, edit_again, leave]


def write(path: Path, title: str) -> None:
    path.write_text(f"# {title}\n\nWords below {title}.\n")


def live(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, rows_min: int) -> Iterator[object]:
    """Documents that change between runs. Yield what every command says after each run."""
    monkeypatch.setattr(spliced_manifest, "REPEATED_MIN", rows_min)
    docs = cli.folder / "docs"
    docs.mkdir()
    for number in range(12):
        write(docs / f"{number:02}.md", f"Title {number}")
    for change in [leave, leave, *CHANGES]:
        change(docs)
        plan = cli.run("plan", "docs", "--json").json["items"]
        explained = [cli.run("explain", path, "--json").out for path in EXPLAINED]
        assert cli.run_in_process("run", "docs", "-q", "--workers", "2", "--policy", "io").code == 0
        yield [change.__name__, plan, explained, *ask_all(cli)]


def ask_all(cli: CommandLine) -> Iterator[object]:
    yield from (list_rows(cli, *options) for options in ((), ("--last-run",), ("--status", "skip")))
    yield [cli.run("explain", path, "--json").out for path in EXPLAINED]
    yield cli.run("plan", "docs", "--json").json["items"]
    yield cli.run("failures", "--json").out
    yield cli.run("verify", "--json").out
    yield [(stage["stage"], stage["items"]) for stage in cli.run("inspect", "--json").json["stages"]]
    yield [pick_counts(run) for run in cli.run("report", "--json").json["runs"]]
    for stage in STAGES:
        items, count = open_table(str(cli.data), stage).list_items("", 99, "", "")
        yield count, [(item.id, item.status) for item in items]


def list_rows(cli: CommandLine, *options: str) -> list[dict[str, Any]]:
    """The rows that `inorder manifest --jsonl` prints, without what differs from run to run."""
    rows = [json.loads(line) for line in cli.run("manifest", "--jsonl", *options).out.splitlines()]
    return [{name: row[name] for name in row if name not in VOLATILE_FIELDS} for row in rows]


def pick_counts(run: dict[str, Any]) -> object:
    return {name: run[name] for name in ("stage", "counts", "skips", "warnings", "changes")}


@pytest.mark.process
@pytest.mark.parametrize("is_packed", [False, True], ids=["text", "packed"])
def test_commands_answer_as_if_all_rows_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_packed: bool
) -> None:
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1 if is_packed else 2**30)
    monkeypatch.setattr(packed_lines, "_FRAME_BYTES", 500)
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    monkeypatch.setattr(spliced_manifest, "_WRITTEN_BYTES_MIN", 0)  # few rows, however long, are not in many pieces
    folders = [tmp_path / name for name in ("written", "named")]
    for folder in folders:
        folder.mkdir()
    written, named = map(CommandLine, folders)
    expected = json.dumps([*live(written, monkeypatch, 10**6)], indent=1).replace("/written", "/named")
    assert json.dumps([*live(named, monkeypatch, 1)], indent=1).splitlines() == expected.splitlines()
    for stage in STAGES:
        with packed_lines.open_lines(str(named.data / "manifests" / f"{stage}.jsonl")) as lines:
            assert lines.read().count(b"__repeated__") >= len(CHANGES), stage
