"""Mistakes that people make on the command line: refused at once, in one line that says what to do."""

import builtins
import contextlib
import os
import pty
import re
from collections import Counter
from collections.abc import Callable
from errno import EACCES, EROFS
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inorder.host.lock import Lock
from inorder.stage.monitor.histograms import SlowestItems
from inorder.stage.monitor.progress import BarDisplay, StageProgress
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-3")


@pytest.fixture
def docs(cli: CommandLine) -> CommandLine:
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs" / "a.md").write_text("# Alpha\n\nThe first document.\n")
    (cli.folder / "docs" / "code.py").write_text("def answer():\n    return 42\n")
    return cli


def run(cli: CommandLine, *arguments: str) -> Any:
    return cli.run_in_process(*arguments, "--workers", "1", "--policy", "io", "-q")


@pytest.mark.process
@pytest.mark.parametrize("stage", ["chunk", "embed", "index"])
def test_a_stage_that_reads_data_does_not_create_it(docs: CommandLine, stage: str) -> None:
    ended = run(docs, stage, "--data", "dtaa")
    said = (
        "no DATA directory at dtaa; run `inorder doctags SRC` or `inorder run SRC` first, or choose another with --data"
    )
    assert ended == (2, "", f"inorder: {said}\n")
    assert not (docs.folder / "dtaa").exists()
    ended = run(docs, stage, "--data", "docs")
    assert ended.code == 2
    assert "docs is not a DATA directory: it has no library; run `inorder doctags SRC`" in ended.err
    assert sorted(path.name for path in (docs.folder / "docs").iterdir()) == ["a.md", "code.py"]


@pytest.mark.process
@pytest.mark.parametrize("command", ["run", "doctags", "index"])
def test_a_stage_that_reads_sources_creates_data(docs: CommandLine, command: str) -> None:
    assert run(docs, command, "docs", "--data", "new").code == 0
    assert (docs.folder / "new" / "manifests").exists()


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--dense", "tei:xx"), "tei:URL must be an http address such as tei:http://localhost:8080, got 'xx'"),
        (("--dense", "tei:http://host:port"), "tei:URL must be an http address"),
        (("--dense", "openai:http://localhost:1"), "needs the name of a model: openai:http://localhost:1#NAME"),
        (("--dense", "splade:x"), "'splade:x' computes sparse vectors; give it as --sparse splade:x"),
        (("--sparse", "hash"), "'hash' computes dense vectors; give it as --dense hash"),
    ],
)
def test_a_provider_that_cannot_be_is_refused_before_anything_runs(
    docs: CommandLine, options: tuple[str, str], said: str
) -> None:
    ended = run(docs, "run", "docs", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert not docs.data.exists()


@pytest.mark.process
def test_a_source_file_that_cannot_be_read_fails(docs: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(real: Callable[..., Any], path: Any, *arguments: Any, **more: Any) -> Any:
        if str(path).endswith("code.py"):
            raise PermissionError(EACCES, "Permission denied", str(path))
        return real(path, *arguments, **more)

    with monkeypatch.context() as patch:
        for module in (builtins, os):
            patch.setattr(module, "open", partial(refuse, module.open))
        ended = run(docs, "index", "docs")
    assert ended.code == 3
    row = docs.row("docs/code.py", "index")
    assert row["error"]["message"] == "the file cannot be read: Permission denied"
    assert row["error"]["category"] == "input"
    assert run(docs, "index", "docs").code == 0


@pytest.mark.process
def test_a_filter_that_nothing_can_pass_is_named_and_not_the_question(docs: CommandLine) -> None:
    run(docs, "run", "docs")
    ended = docs.run_in_process("search", "answer", "--language", "pyton")
    assert ended == (2, "", "inorder: nothing in the index has language 'pyton'; did you mean python?\n")
    ended = docs.run_in_process("search", "answer", "--kind", "funktion")
    assert ended.err == "inorder: nothing in the index has kind 'funktion'; did you mean function?\n"
    ended = docs.run_in_process("search", "answer", "--language", "zz")
    assert ended.err == "inorder: nothing in the index has language 'zz'; there is: en, python\n"
    assert docs.run_in_process("search", "answer", "--language", "python").code == 0
    assert docs.run_in_process("search", "no-such-word-at-all", "--language", "python", "--mode", "lexical").code == 3


@pytest.mark.process
@pytest.mark.parametrize("command", ["retry", "run"])
@pytest.mark.parametrize("number", [EROFS, EACCES])
def test_data_that_cannot_be_written_is_one_clear_line(
    docs: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str, number: int
) -> None:
    docs.sources("one")
    assert docs.stage("count").code == 0
    real = os.open

    def refuse(path: Any, flags: int, *arguments: Any, **more: Any) -> int:
        if str(path).endswith(".lock"):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *arguments, **more)

    monkeypatch.setattr(os, "open", refuse)
    if command == "run":
        ended = run(docs, "run", "docs")
        path = docs.data / "library.sqlite.library.lock"
        said = f"{docs.data}/library.sqlite cannot be locked: {os.strerror(number)} ({path})"
        assert ended == (1, "", f"inorder: {said}\n")
        return
    ended = docs.run_in_process(command)
    path = docs.data / "locks" / "count.lock"
    said = f"stage count of .inorder cannot be locked: {os.strerror(number)} ({path}); "
    assert ended == (1, "", f"inorder: {said}make it writable, or copy DATA to a place where it is\n")


def test_a_lock_that_is_held_is_no_matter_of_rights(tmp_path: Path) -> None:
    lock = Lock(str(tmp_path / "lock"), "it")
    with pytest.raises(Exception, match="it is in use by process"):
        Lock(str(tmp_path / "lock"), "it")
    lock.release()


@pytest.mark.parametrize("columns", [60, 80, 110, 160])
def test_a_bar_shows_its_count_on_every_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ours, theirs = pty.openpty()
    with open(theirs, "w", closefd=True) as terminal:
        bar = BarDisplay(terminal, "doctags", 10_000, 0, verbose=False)
        progress = StageProgress("doctags", 10_000, 4321, 1234, 12, 60.0, in_flight=8, buffered_bytes=2**24)
        bar.close(progress, SlowestItems(), Counter())
    raw = b""
    with contextlib.suppress(OSError):  # how a terminal says that everybody has left
        while piece := os.read(ours, 65536):
            raw += piece
    os.close(ours)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw.decode())
    [last] = [line for line in re.split(r"[\r\n]+", shown) if line.strip()][-1:]
    assert " 5567/10000" in last
    assert "…" not in last
    assert ("succ 4321 skip 1234 fail 12" in last) == (columns >= 80)
    assert len(last) <= columns
