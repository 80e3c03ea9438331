"""`inorder verify`: everything that can be wrong with DATA is found, named, and left as it is."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from inorder.extensions.trust import trust_recorded
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-6")

Damage = Callable[[CommandLine], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA as a run has left it."""
    cli = CommandLine(tmp_path_factory.mktemp("whole"))
    cli.sources("one", "one two", "fail input", "skip no words", "bare")
    assert cli.stage_in_process("count").code == 3
    return cli.data


@pytest.fixture
def done(cli: CommandLine, whole: Path) -> CommandLine:
    """The same, to be damaged."""
    cli.sources("one", "one two", "fail input", "skip no words", "bare")
    shutil.copytree(whole, cli.data)
    trust_recorded(str(cli.data), "stage", "jobs:count")
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


@pytest.mark.slow
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
    cli.stage_in_process("count")
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


@pytest.mark.slow
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
    cli.sources("one", "two", "hold", "four")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:count", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2)
    program.kill()
    assert cli.end_of(program).code == -signal.SIGKILL
    found = problems(cli)
    assert ("unfinished", "journal/count.journal") in found
    assert {kind for kind, _ in found} <= {"unfinished", "leftover", "missing"}
    rows = manifest(cli).read_bytes()
    manifest(cli).write_bytes(rows[: rows.index(b"\n") + 1])  # as if it had died before the rows were written
    assert "orphaned" not in {kind for kind, _ in problems(cli)}
    manifest(cli).write_bytes(rows)
    cli.source("2.txt", "three")
    assert cli.stage_in_process("count").code == 0
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
        "leftover    .staging/count/one/two  count: left by an interrupted run; run the stage again, or remove it",
    ]
    assert ended.err == "2 problems in .inorder\n"
    assert done.stage_in_process("count").code == 3
    assert problems(done) == []


@pytest.mark.process
def test_what_was_made_without_fingerprints_is_only_looked_for(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count", "--set", "fingerprinting=false")
    cli.output("0.txt").write_text("7\n")
    assert problems(cli) == []
    cli.output("0.txt").unlink()
    assert problems(cli) == [("missing", "counts/0.txt")]


@pytest.mark.process
def test_outputs_are_held_to_the_run_that_made_them_and_not_to_one_that_skipped_them(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count")
    cli.write("config", "another")
    cli.stage_in_process("count", "--set", "fingerprinting=false")
    assert [row["cfg_hash"] for row in cli.rows()] == ["", "", "another", "another"]
    assert problems(cli) == []
    cli.stage_in_process("count")
    assert problems(cli) == []


@pytest.mark.process
def test_the_old_outputs_of_an_item_that_has_failed_since_are_no_orphans(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count")
    cli.source("0.txt", "fail input")
    cli.stage_in_process("count")
    assert cli.output("0.txt").exists()
    assert problems(cli) == []


@pytest.mark.process
def test_stages_share_data_and_each_is_checked(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage_in_process("count")
    cli.stage_in_process("lazy", "--force")
    found = cli.run("verify", "--json").json
    # Both write the same file, and only the later one can be right about whose it is.
    assert [(one["kind"], one["stage"], one["path"]) for one in found["problems"]] == [
        ("altered", "count", "counts/0.txt.fp.json")
    ]
    assert "belongs to item 0.txt of stage lazy" in json.dumps(found)
