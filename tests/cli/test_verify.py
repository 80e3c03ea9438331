"""`inorder verify`: everything that can be wrong with DATA is found, named, and left as it is."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.desk import Desk

pytestmark = pytest.mark.req("CLI-6")

Damage = Callable[[Desk], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA as a run has left it."""
    desk = Desk(tmp_path_factory.mktemp("whole"))
    desk.sources("one", "one two", "fail input", "skip no words", "bare")
    assert desk.stage("count").code == 3
    return desk.data


@pytest.fixture
def done(desk: Desk, whole: Path) -> Desk:
    """The same, to be damaged."""
    desk.sources("one", "one two", "fail input", "skip no words", "bare")
    shutil.copytree(whole, desk.data)
    return desk


def problems(desk: Desk) -> list[tuple[str, str]]:
    """What is found: kind and path. Nothing is changed by looking."""
    before = everything(desk)
    ended = desk.run("verify", "--json")
    assert everything(desk) == before
    found = ended.json
    assert ended.code == (6 if found["problems"] else 0)
    assert found["count"] == len(found["problems"])
    return [(problem["kind"], problem["path"]) for problem in found["problems"]]


def everything(desk: Desk) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in desk.data.rglob("*") if path.is_file() and path.parent.name != "locks"}


def manifest(desk: Desk) -> Path:
    return desk.data / "manifests" / "count.jsonl"


def journal(desk: Desk) -> Path:
    return desk.data / "journal" / "count.journal"


def fingerprint(desk: Desk) -> Path:
    return desk.data / "counts" / "0.txt.fp.json"


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert data.count(old) >= 1
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.process
def test_a_dataset_as_it_was_written_is_whole(done: Desk) -> None:
    assert problems(done) == []
    ended = done.run("verify")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "no problems: 1 stage, outputs of 2 items checked\n"


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda desk: desk.output("0.txt").unlink(), [("missing", "counts/0.txt")]),
        (lambda desk: desk.output("0.txt").write_text(""), [("missing", "counts/0.txt")]),
        (lambda desk: desk.output("0.txt").write_text("7\n"), [("altered", "counts/0.txt")]),
        (lambda desk: desk.output("0.txt").write_text("1\n\n"), [("altered", "counts/0.txt")]),
        (lambda desk: fingerprint(desk).unlink(), [("missing", "counts/0.txt.fp.json")]),
        (lambda desk: fingerprint(desk).write_text("nonsense"), [("altered", "counts/0.txt.fp.json")]),
        (lambda desk: rewrite(fingerprint(desk), b'"0.txt"', b'"9.txt"'), [("altered", "counts/0.txt.fp.json")]),
        (lambda desk: rewrite(fingerprint(desk), b'h":""', b'h":"x"'), [("altered", "counts/0.txt.fp.json")]),
        (lambda desk: rewrite(fingerprint(desk), b'6":"', b'6":"0'), [("altered", "counts/0.txt.fp.json")]),
        (lambda desk: rewrite(fingerprint(desk), b'["counts/', b'["elsewhere/'), [("altered", "counts/0.txt.fp.json")]),
        (lambda desk: (desk.data / "counts" / "9.txt").write_text("9"), [("orphaned", "counts/9.txt")]),
        (lambda desk: (desk.data / "9.txt.fp.json").write_text("9"), [("orphaned", "9.txt.fp.json")]),
        (lambda desk: staged(desk), [("leftover", ".staging/count/one/two")]),
        (
            lambda desk: (desk.data / "journal" / "count.journal.new").write_text(""),
            [("leftover", "journal/count.journal.new")],
        ),
        (
            lambda desk: manifest(desk).write_bytes(manifest(desk).read_bytes() + b'{"stage":"co'),
            [("torn", "manifests/count.jsonl"), ("altered", "manifests/count.jsonl")],
        ),
        (
            lambda desk: manifest(desk).write_bytes(manifest(desk).read_bytes()[:-1]),
            [("torn", "manifests/count.jsonl"), ("altered", "manifests/count.jsonl")],
        ),
        (
            lambda desk: rewrite(manifest(desk), b'"duration_s":0.', b'"duration_s":1.'),
            [("altered", "manifests/count.jsonl")],
        ),
        (
            lambda desk: rewrite(manifest(desk), b'{"stage":"count","doc_id":"1', b'("stage":"count","doc_id":"1'),
            [
                *[("altered", "manifests/count.jsonl")] * 2,
                ("orphaned", "counts/1.txt"),
                ("orphaned", "counts/1.txt.fp.json"),
            ],
        ),
        (
            lambda desk: rewrite(manifest(desk), b'"seq":1,', b'"seq":2,'),
            [("altered", "manifests/count.jsonl")] * 3,
        ),
        (
            lambda desk: rewrite(manifest(desk), b'{"stage":"count","doc_id":"0', b'{"stage":"other","doc_id":"0'),
            [("altered", "manifests/count.jsonl")] * 2,
        ),
        (lambda desk: journal(desk).unlink(), [("missing", "journal/count.journal")]),
        (lambda desk: journal(desk).write_bytes(b"nonsense"), [("journal", "journal/count.journal")]),
        (
            lambda desk: journal(desk).write_bytes(journal(desk).read_bytes() + b"\xa7nonsense"),
            [("torn", "journal/count.journal")],
        ),
    ],
)
def test_damage_is_found_and_named(done: Desk, damage: Damage, expected: list[tuple[str, str]]) -> None:
    damage(done)
    assert problems(done) == expected


def staged(desk: Desk) -> None:
    folder = desk.data / ".staging" / "count" / "one"
    folder.mkdir(parents=True)
    (folder / "two").write_text("half")


@pytest.mark.req("RUN-17")
def test_an_input_that_has_changed_since_it_was_processed_is_named(desk: Desk) -> None:
    desk.sources("one", "two", "fail input", "skip no words", "bare")
    desk.stage("count")
    for name in ("1.txt", "2.txt", "3.txt", "5.txt"):  # processed, failed, skipped, new
        desk.source(name, "owt")
    (desk.source_folder / "0.txt").unlink()
    before = everything(desk)
    ended = desk.run("verify")
    assert (ended.code, everything(desk)) == (6, before)
    reason = "an input of 1.txt has changed since it was processed; run the stage again"
    assert ended.out == f"outdated    {desk.source_folder / '1.txt'}  count: {reason}\n"
    desk.source("1.txt", "two")
    assert problems(desk) == []


@pytest.mark.req("RUN-17")
def test_inputs_that_cannot_be_checked_are_named_and_the_rest_is_checked(done: Desk) -> None:
    (done.folder / "jobs.py").unlink()
    assert problems(done) == []
    [note, summary] = done.run("verify").err.splitlines()
    assert note.startswith("the inputs of stage count were not checked: cannot make the plan of stage count: ")
    assert summary.startswith("no problems: ")


def test_rows_that_were_cut_off_are_missed(done: Desk) -> None:
    lines = manifest(done).read_bytes().splitlines(keepends=True)
    manifest(done).write_bytes(b"".join(lines[:-2]))
    assert problems(done) == [("altered", "manifests/count.jsonl")]
    assert " were written" in done.run("verify").out


def test_a_manifest_that_is_gone_is_missed_and_so_are_the_names_in_it(done: Desk) -> None:
    manifest(done).unlink()
    names = ["counts/0.txt", "counts/0.txt.fp.json", "counts/1.txt", "counts/1.txt.fp.json"]
    assert problems(done) == [("missing", "manifests/count.jsonl"), *(("orphaned", name) for name in names)]


@pytest.mark.process
def test_a_run_that_has_not_ended_is_told_of_with_what_it_left(desk: Desk) -> None:
    desk.sources("one", "two", "die", "four")
    desk.start("stage", "jobs:count", "sources", "--workers", "1")
    assert desk.end_of(desk.started[0]).code == -signal.SIGKILL
    found = problems(desk)
    assert ("unfinished", "journal/count.journal") in found
    assert {kind for kind, _ in found} <= {"unfinished", "leftover", "missing"}
    desk.source("2.txt", "three")
    assert desk.stage("count").code == 0
    assert problems(desk) == []


@pytest.mark.process
def test_each_problem_is_a_line_with_what_to_do(done: Desk) -> None:
    done.output("0.txt").write_text("7\n")
    staged(done)
    ended = done.run("verify")
    assert ended.code == 6
    assert ended.out.splitlines() == [
        "altered     counts/0.txt  count: the output of 0.txt differs from what was written",
        "leftover    .staging/count/one/two  count: left by an interrupted run; the next run removes it",
    ]
    assert ended.err == "2 problems in .inorder\n"
    assert done.stage("count").code == 3
    assert problems(done) == []


@pytest.mark.process
def test_what_was_made_without_fingerprints_is_only_looked_for(desk: Desk) -> None:
    desk.sources("one", "two")
    desk.stage("count", "--no-fingerprinting")
    desk.output("0.txt").write_text("7\n")
    assert problems(desk) == []
    desk.output("0.txt").unlink()
    assert problems(desk) == [("missing", "counts/0.txt")]


@pytest.mark.process
def test_outputs_are_held_to_the_run_that_made_them_and_not_to_one_that_skipped_them(desk: Desk) -> None:
    desk.sources("one", "two")
    desk.stage("count")
    desk.write("config", "another")
    desk.stage("count", "--no-fingerprinting")
    assert [row["cfg_hash"] for row in desk.rows()] == ["", "", "another", "another"]
    assert problems(desk) == []
    desk.stage("count")
    assert problems(desk) == []


@pytest.mark.process
def test_the_old_outputs_of_an_item_that_has_failed_since_are_no_orphans(desk: Desk) -> None:
    desk.sources("one", "two")
    desk.stage("count")
    desk.source("0.txt", "fail input")
    desk.stage("count")
    assert desk.output("0.txt").exists()
    assert problems(desk) == []


@pytest.mark.process
def test_stages_share_data_and_each_is_checked(desk: Desk) -> None:
    desk.sources("one")
    desk.stage("count")
    desk.stage("lazy", "--force")
    found = desk.run("verify", "--json").json
    # Both write the same file, and only the later one can be right about whose it is.
    assert [(one["kind"], one["stage"], one["path"]) for one in found["problems"]] == [
        ("altered", "count", "counts/0.txt.fp.json")
    ]
    assert "belongs to item 0.txt of stage lazy" in json.dumps(found)
