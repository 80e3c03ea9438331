"""`inorder verify`: everything that can be wrong with DATA is found, named, and left as it is."""

import contextlib
import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-6")

Damage = Callable[[CommandLine], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA as a run has left it."""
    cli = CommandLine(tmp_path_factory.mktemp("whole"))
    cli.sources("one", "one two", "fail input", "skip no words", "bare")
    assert cli.stage("count").code == 3
    return cli.data


@pytest.fixture
def done(cli: CommandLine, whole: Path) -> CommandLine:
    """The same, to be damaged."""
    cli.sources("one", "one two", "fail input", "skip no words", "bare")
    shutil.copytree(whole, cli.data)
    return cli


def problems(cli: CommandLine) -> list[tuple[str, str]]:
    """What is found: kind and path. Nothing is changed by looking."""
    before = everything(cli)
    ended = cli.run("verify", "--json")
    assert everything(cli) == before
    found = ended.json
    assert ended.code == (6 if found["problems"] else 0)
    assert found["count"] == len(found["problems"])
    return [(problem["kind"], problem["path"]) for problem in found["problems"]]


def everything(cli: CommandLine) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in cli.data.rglob("*") if path.is_file() and path.parent.name != "locks"}


def manifest(cli: CommandLine) -> Path:
    return cli.data / "manifests" / "count.jsonl"


def journal(cli: CommandLine) -> Path:
    return cli.data / "journal" / "count.journal"


def fingerprint(cli: CommandLine) -> Path:
    return cli.data / "counts" / "0.txt.fp.json"


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.process
def test_a_dataset_as_it_was_written_is_whole(done: CommandLine) -> None:
    assert problems(done) == []
    ended = done.run("verify")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "no problems: 1 stage, outputs of 2 items checked\n"


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda cli: cli.output("0.txt").unlink(), [("missing", "counts/0.txt")]),
        (lambda cli: cli.output("0.txt").write_text(""), [("missing", "counts/0.txt")]),
        (lambda cli: cli.output("0.txt").write_text("7\n"), [("altered", "counts/0.txt")]),
        (lambda cli: cli.output("0.txt").write_text("1\n\n"), [("altered", "counts/0.txt")]),
        (lambda cli: fingerprint(cli).unlink(), [("missing", "counts/0.txt.fp.json")]),
        (lambda cli: fingerprint(cli).write_text("nonsense"), [("altered", "counts/0.txt.fp.json")]),
        (lambda cli: rewrite(fingerprint(cli), b'"0.txt"', b'"9.txt"'), [("altered", "counts/0.txt.fp.json")]),
        (lambda cli: rewrite(fingerprint(cli), b'h":""', b'h":"x"'), [("altered", "counts/0.txt.fp.json")]),
        (lambda cli: rewrite(fingerprint(cli), b'6":"', b'6":"0'), [("altered", "counts/0.txt.fp.json")]),
        (lambda cli: rewrite(fingerprint(cli), b'["counts/', b'["elsewhere/'), [("altered", "counts/0.txt.fp.json")]),
        (lambda cli: (cli.data / "counts" / "9.txt").write_text("9"), [("orphaned", "counts/9.txt")]),
        (lambda cli: (cli.data / "9.txt.fp.json").write_text("9"), [("orphaned", "9.txt.fp.json")]),
        (lambda cli: staged(cli), [("leftover", ".staging/count/one/two")]),
        (
            lambda cli: (cli.data / "journal" / "count.journal.new").write_text(""),
            [("leftover", "journal/count.journal.new")],
        ),
        (
            lambda cli: manifest(cli).write_bytes(manifest(cli).read_bytes() + b'{"stage":"co'),
            [("torn", "manifests/count.jsonl"), ("altered", "manifests/count.jsonl")],
        ),
        (
            lambda cli: manifest(cli).write_bytes(manifest(cli).read_bytes()[:-1]),
            [("torn", "manifests/count.jsonl"), ("altered", "manifests/count.jsonl")],
        ),
        (
            lambda cli: rewrite(manifest(cli), b'"duration_s":0.', b'"duration_s":1.'),
            [("altered", "manifests/count.jsonl")],
        ),
        (
            lambda cli: rewrite(manifest(cli), b'{"stage":"count","doc_id":"1', b'("stage":"count","doc_id":"1'),
            [
                *[("altered", "manifests/count.jsonl")] * 2,
                ("orphaned", "counts/1.txt"),
                ("orphaned", "counts/1.txt.fp.json"),
            ],
        ),
        (
            lambda cli: rewrite(manifest(cli), b'"seq":1,', b'"seq":2,'),
            [("altered", "manifests/count.jsonl")] * 3,
        ),
        (
            lambda cli: rewrite(manifest(cli), b'{"stage":"count","doc_id":"0', b'{"stage":"other","doc_id":"0'),
            [("altered", "manifests/count.jsonl")] * 2,
        ),
        (lambda cli: journal(cli).unlink(), [("missing", "journal/count.journal")]),
        (lambda cli: journal(cli).write_bytes(b"nonsense"), [("journal", "journal/count.journal")]),
        (
            lambda cli: journal(cli).write_bytes(journal(cli).read_bytes() + b"\xa7nonsense"),
            [("torn", "journal/count.journal")],
        ),
    ],
)
def test_damage_is_found_and_named(done: CommandLine, damage: Damage, expected: list[tuple[str, str]]) -> None:
    damage(done)
    assert problems(done) == expected


def staged(cli: CommandLine) -> None:
    folder = cli.data / ".staging" / "count" / "one"
    folder.mkdir(parents=True)
    (folder / "two").write_text("half")


@pytest.mark.process
@pytest.mark.req("RUN-17")
def test_an_input_that_has_changed_since_it_was_processed_is_named(cli: CommandLine) -> None:
    cli.sources("one", "two", "fail input", "skip no words", "bare")
    cli.stage("count")
    for name in ("1.txt", "2.txt", "3.txt", "5.txt"):  # processed, failed, skipped, new
        cli.source(name, "owt")
    (cli.source_folder / "0.txt").unlink()
    before = everything(cli)
    ended = cli.run("verify")
    assert (ended.code, everything(cli)) == (6, before)
    reason = "an input of 1.txt has changed since it was processed; run the stage again"
    assert ended.out == f"outdated    {cli.source_folder / '1.txt'}  count: {reason}\n"
    cli.source("1.txt", "two")
    assert problems(cli) == []


@pytest.mark.req("RUN-17")
def test_inputs_that_cannot_be_checked_are_named_and_the_rest_is_checked(done: CommandLine) -> None:
    (done.folder / "jobs.py").unlink()
    assert problems(done) == []
    [note, summary] = done.run("verify").err.splitlines()
    assert note.startswith("the inputs of stage count were not checked: cannot make the plan of stage count: ")
    assert summary.startswith("no problems: ")


def test_rows_that_were_cut_off_are_missed(done: CommandLine) -> None:
    lines = manifest(done).read_bytes().splitlines(keepends=True)
    manifest(done).write_bytes(b"".join(lines[:-2]))
    assert problems(done) == [("altered", "manifests/count.jsonl")]
    assert " were written" in done.run("verify").out


def test_a_manifest_that_is_gone_is_missed_and_so_are_the_names_in_it(done: CommandLine) -> None:
    manifest(done).unlink()
    names = ["counts/0.txt", "counts/0.txt.fp.json", "counts/1.txt", "counts/1.txt.fp.json"]
    assert problems(done) == [("missing", "manifests/count.jsonl"), *(("orphaned", name) for name in names)]


@pytest.mark.process
def test_a_run_that_has_not_ended_is_told_of_with_what_it_left(cli: CommandLine) -> None:
    cli.sources("one", "two", "die", "four")
    cli.start("stage", "jobs:count", "sources", "--workers", "1")
    assert cli.end_of(cli.started[0]).code == -signal.SIGKILL
    found = problems(cli)
    assert ("unfinished", "journal/count.journal") in found
    assert {kind for kind, _ in found} <= {"unfinished", "leftover", "missing"}
    cli.source("2.txt", "three")
    assert cli.stage("count").code == 0
    assert problems(cli) == []


@pytest.mark.process
def test_each_problem_is_a_line_with_what_to_do(done: CommandLine) -> None:
    done.output("0.txt").write_text("7\n")
    staged(done)
    ended = done.run("verify")
    assert ended.code == 6
    assert ended.out.splitlines() == [
        "altered     counts/0.txt  count: the output of 0.txt differs from what was written; "
        "run the stage again to make it",
        "leftover    .staging/count/one/two  count: left by an interrupted run; the next run adopts or removes it",
    ]
    assert ended.err == "2 problems in .inorder\n"
    assert done.stage("count").code == 3
    assert problems(done) == []


@pytest.mark.process
def test_what_was_made_without_fingerprints_is_only_looked_for(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage("count", "--no-fingerprinting")
    cli.output("0.txt").write_text("7\n")
    assert problems(cli) == []
    cli.output("0.txt").unlink()
    assert problems(cli) == [("missing", "counts/0.txt")]


@pytest.mark.process
def test_outputs_are_held_to_the_run_that_made_them_and_not_to_one_that_skipped_them(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage("count")
    cli.write("config", "another")
    cli.stage("count", "--no-fingerprinting")
    assert [row["cfg_hash"] for row in cli.rows()] == ["", "", "another", "another"]
    assert problems(cli) == []
    cli.stage("count")
    assert problems(cli) == []


@pytest.mark.process
def test_the_old_outputs_of_an_item_that_has_failed_since_are_no_orphans(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage("count")
    cli.source("0.txt", "fail input")
    cli.stage("count")
    assert cli.output("0.txt").exists()
    assert problems(cli) == []


@pytest.mark.process
def test_stages_share_data_and_each_is_checked(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage("count")
    cli.stage("lazy", "--force")
    found = cli.run("verify", "--json").json
    # Both write the same file, and only the later one can be right about whose it is.
    assert [(one["kind"], one["stage"], one["path"]) for one in found["problems"]] == [
        ("altered", "count", "counts/0.txt.fp.json")
    ]
    assert "belongs to item 0.txt of stage lazy" in json.dumps(found)


@pytest.fixture(scope="module")
def searchable(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """DATA with an index of a document, its vectors, and code."""
    cli = CommandLine(tmp_path_factory.mktemp("searchable"))
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs" / "a.md").write_text("# Alpha\n\nThe first answer.\n")
    (cli.folder / "docs" / "code.py").write_text("def answer():\n    return 42\n")
    assert cli.run_in_process("run", "docs", "--policy", "io", "-q").code == 0
    return cli


@pytest.fixture
def indexed(cli: CommandLine) -> CommandLine:
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs" / "a.py").write_text("def quick_answer():\n    return 42\n")
    assert cli.run_in_process("index", "docs", "--policy", "io", "-q").code == 0
    return cli


ONE_TERM = "x'01000800010000000000000000000000010000000000000000000000000020616e7377657220ff01'"
"""A block with the term `answer` in chunk 255."""
DAMAGES = [
    "UPDATE term_blocks SET data = x'00'",
    "UPDATE term_blocks SET data = 'text'",
    "UPDATE term_blocks SET data = substr(data, 1, length(data) - 1)",
    "UPDATE term_blocks SET data = CAST(x'0000' || substr(data, 3) AS BLOB)",
    "UPDATE term_blocks SET data = CAST(x'ffff' || substr(data, 3) AS BLOB)",
    "UPDATE term_blocks SET segment = 77",
    pytest.param(f"UPDATE term_blocks SET data = {ONE_TERM}", id="a chunk that its segment does not have"),
    "UPDATE segments SET chunks = x'0102'",
    "UPDATE segments SET body_lengths = x'00'",
    "DELETE FROM segments",
    "UPDATE vectors SET chunks = x'00'",
    "DELETE FROM vectors",
    "DELETE FROM vector_files",
    "UPDATE vector_files SET dead = 1",
]


@pytest.mark.process
@pytest.mark.req("CLI-3", "CLI-6")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_inverted_index_is_one_clear_line(searchable: CommandLine, tmp_path: Path, damage: str) -> None:
    shutil.copytree(searchable.data, tmp_path / "copy")
    path = tmp_path / "copy" / "index.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(damage)
    ended = searchable.run_in_process("search", "answer", "--data", str(tmp_path / "copy"))
    assert ended.code == 6
    assert re.fullmatch(
        r"inorder: .*index\.sqlite is damaged \(.*\); remove it and run `inorder index` again\n", ended.err
    )
    assert searchable.run_in_process("verify", "--data", str(tmp_path / "copy")).code == 6


@pytest.mark.process
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE chunks SET text = 'other'", "its rows do not match its digest"),
        ("UPDATE meta SET value = 'x' WHERE name = 'content_hash'", "the content hash is"),
        (
            "DELETE FROM term_blocks WHERE first = (SELECT MIN(first) FROM term_blocks)",
            "the inverted index does not match the chunks",
        ),
    ],
    ids=["rows", "content hash", "words"],
)
def test_the_index_is_verified_too(indexed: CommandLine, damage: str, said: str) -> None:
    assert indexed.run("verify").code == 0
    with contextlib.closing(sqlite3.connect(indexed.data / "index.sqlite", isolation_level=None)) as database:
        database.execute(damage)
    ended = indexed.run("verify")
    assert ended.code == 6
    assert said in ended.out
    for line in ended.out.splitlines():
        assert line.startswith("altered     index.sqlite  index: ")
        assert line.endswith("; remove index.sqlite and run `inorder index` again")


@pytest.mark.process
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE vectors SET chunks = x'6300000000000000'", "names chunks that do not exist"),
        (
            "INSERT INTO vector_files SELECT 7, name, count, 0, 1 FROM vector_files; INSERT INTO vectors "
            "SELECT 7, chunks FROM vectors; UPDATE meta SET value = 2 WHERE name = 'vectors_count'",
            "names a chunk twice",
        ),
        ("UPDATE vectors SET chunks = x'ffffffffffffffff'", "has 1 rows of removed chunks instead of 0"),
    ],
    ids=["unknown", "twice", "dead"],
)
def test_the_chunks_of_the_vectors_are_verified_too(
    searchable: CommandLine, tmp_path: Path, damage: str, said: str
) -> None:
    shutil.copytree(searchable.data, tmp_path / "copy")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy" / "index.sqlite", isolation_level=None)) as database:
        database.executescript(damage)
    ended = searchable.run_in_process("verify", "--data", str(tmp_path / "copy"))
    assert ended.code == 6
    assert f"the table `vectors` {said}; remove index.sqlite" in ended.out


@pytest.mark.process
def test_to_verify_the_index_changes_nothing_in_it(indexed: CommandLine) -> None:
    def look() -> dict[str, tuple[bytes, int]]:
        found = [path for path in indexed.data.iterdir() if path.is_file()]
        return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}

    before = look()
    assert indexed.run("verify").code == 0
    assert look() == before
