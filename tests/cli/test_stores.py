"""`verify`, `inspect`, `explain`, `failures`, `retry` and `manifest` with results in stores."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inorder.stage.store.database import close_readers
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-6", "DAT-1")

QUICK = ("--policy", "io", "--fsync", "off", "--quiet")


def run_stages(cli: CommandLine) -> list[int]:
    """Run the three stages with stores, in this process."""
    codes = [cli.run_in_process("doctags", "docs", *QUICK).code]
    codes += [cli.run_in_process("chunk", *QUICK).code]
    codes += [cli.run_in_process("embed", "--dense", "hash:8", *QUICK).code]
    close_readers()
    return codes


def write_documents(folder: Path) -> None:
    (folder / "docs").mkdir()
    for name in ("one", "two"):
        (folder / "docs" / f"{name}.md").write_text(f"# {name}\n\nSome words about {name}.\n" * 9)
    (folder / "docs" / "bad.docx").write_bytes(b"PK\x03\x04 no document")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA as the stages have left it."""
    cli = CommandLine(tmp_path_factory.mktemp("whole"))
    write_documents(cli.folder)
    assert run_stages(cli) == [3, 0, 0]
    return cli.data


@pytest.fixture
def done(cli: CommandLine, whole: Path) -> CommandLine:
    """The same, to be damaged."""
    write_documents(cli.folder)
    shutil.copytree(whole, cli.data)
    return cli


def edit(cli: CommandLine, stage: str, *statements: str) -> None:
    with closing(sqlite3.connect(cli.data / "store" / f"{stage}.sqlite")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def overwrite(cli: CommandLine, stage: str, page: int) -> None:
    path = cli.data / "store" / f"{stage}.sqlite"
    content = bytearray(path.read_bytes())
    content[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(content)


def test_stores_as_they_were_written_are_whole(done: CommandLine) -> None:
    found = done.run("verify")
    assert (found.code, found.out) == (0, "")
    assert found.err.endswith("no problems: 3 stages, outputs of 7 items checked\n")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (
            lambda cli: edit(cli, "chunk", "UPDATE items SET content = x'00' WHERE item_id = 'docs/one.md'"),
            [("altered", "chunk", r"table `items`, 'docs/one.md': a stored result cannot be decompressed")],
        ),
        (
            lambda cli: edit(cli, "chunk", "UPDATE items SET content = zeroblob(size), codec = 0"),
            [
                ("altered", "chunk", r"table `items`, 'docs/one.md': a stored result differs from what was written"),
                ("altered", "chunk", r"table `items`, 'docs/two.md': a stored result differs from what was written"),
            ],
        ),
        (
            lambda cli: edit(cli, "doctags", "DELETE FROM items WHERE item_id = 'docs/one.md'"),
            [("missing", "doctags", "table `items` has no result of docs/one.md; run the stage again to make it")],
        ),
        (
            lambda cli: edit(
                cli, "embed", "UPDATE items SET item_id = 'dense/other' WHERE item_id = 'dense/docs/one.md'"
            ),
            [
                ("missing", "embed", "table `items` has no result of dense/docs/one.md"),
                ("orphaned", "embed", "table `items`, dense/other: the manifest does not have it"),
            ],
        ),
        (
            lambda cli: edit(
                cli,
                "doctags",
                "INSERT INTO origins VALUES (9, 'documents', 'x', '')",
                "UPDATE items SET origin = 9 WHERE item_id = 'docs/two.md'",
            ),
            [("altered", "doctags", "table `items`, docs/two.md: it has another configuration than the manifest")],
        ),
        (
            lambda cli: overwrite(cli, "doctags", 2),
            [("altered", "doctags", "table `items` is damaged (database disk image is malformed); remove the file")],
        ),
        (
            lambda cli: overwrite(cli, "doctags", 0),
            [("altered", "doctags", "the database is damaged (file is not a database); remove the file and run the")],
        ),
        (
            lambda cli: (cli.data / "store" / "chunk.sqlite").unlink(),
            [("missing", "chunk", "the store is missing; run the stage again to make it")],
        ),
        (
            lambda cli: edit(cli, "chunk", "PRAGMA user_version = 9"),
            [("altered", "chunk", "chunk.sqlite has schema version 9, written by a newer program; this one knows 2")],
        ),
    ],
    ids=["torn", "altered", "missing", "orphaned", "other", "page", "header", "no store", "newer"],
)
def test_what_is_wrong_with_a_store_is_found(
    done: CommandLine, damage: Callable[[CommandLine], object], expected: list[tuple[str, str, str]]
) -> None:
    damage(done)
    result = done.run("verify", "--json")
    found = [problem for problem in result.json["problems"] if problem["kind"] != "outdated"]
    assert (result.code, len(found)) == (6, len(expected)), found
    for problem, (kind, stage, message) in zip(found, expected, strict=True):
        assert (problem["kind"], problem["path"]) == (kind, f"store/{stage}.sqlite")
        assert message in problem["message"]


@pytest.mark.parametrize(
    ("damage", "code", "message"),
    [
        (
            lambda cli: overwrite(cli, "doctags", 2),
            6,
            "doctags.sqlite: table `items` is damaged (database disk image is",
        ),
        (
            lambda cli: overwrite(cli, "doctags", 0),
            6,
            "the database is damaged (file is not a database); remove the file",
        ),
        (
            lambda cli: edit(cli, "doctags", "PRAGMA user_version = 9"),
            2,
            "has schema version 9, written by a newer program",
        ),
    ],
    ids=["page", "header", "newer"],
)
@pytest.mark.parametrize("command", ["doctags", "chunk", "plan"])
def test_a_damaged_store_is_refused_in_one_line(
    done: CommandLine, command: str, damage: Callable[[CommandLine], object], code: int, message: str
) -> None:
    damage(done)
    arguments = {"doctags": ["doctags", "docs", *QUICK], "chunk": ["chunk", *QUICK], "plan": ["plan", "docs"]}[command]
    result = done.run_in_process(*arguments)
    close_readers()
    assert (result.code, result.err.count("\n")) == (code, 1), result.err
    assert message in result.err


def test_a_store_that_was_removed_is_made_again(done: CommandLine) -> None:
    overwrite(done, "doctags", 2)
    (done.data / "store" / "doctags.sqlite").unlink()
    assert run_stages(done) == [3, 0, 0]
    assert done.run("verify").code == 0


def test_inspect_and_manifest_count_what_is_stored(done: CommandLine) -> None:
    stages = {stage["stage"]: stage for stage in done.run("inspect", "--json").json["stages"]}
    assert stages["doctags"]["items"] == {"success": 2, "skip": 0, "failure": 1}
    assert stages["chunk"]["contents"]["documents"] == 2
    assert stages["embed"]["contents"]["families"]["dense"] == {
        "documents": 2,
        "vectors": stages["chunk"]["contents"]["chunks"],
        "dimensions": 8,
        "provider": "hash/1:8",
        "norms": {"min": 1.0, "avg": 1.0, "max": 1.0, "p95": 1.0, "p99": 1.0, "outliers": 0},
    }
    rows = done.run("manifest", "--stage", "chunk", "--jsonl").out
    assert '"output_paths":["chunk/docs/one.md"]' in rows


def test_explain_follows_a_document_through_the_stores(cli: CommandLine) -> None:
    write_documents(cli.folder)
    run_stages(cli)
    (cli.folder / "docs" / "one.md").write_text("other words")
    found = {each["stage"]: each for each in cli.run("explain", "docs/one.md", "--json").json["stages"]}
    assert [found[stage]["verdict"] for stage in ("doctags", "chunk")] == ["process", "process"]
    assert found["doctags"]["reason"] == "its input has changed"
    same = cli.run("explain", "docs/two.md", "--json").json["stages"]
    assert {each["verdict"] for each in same} == {"skip"}


def test_a_failed_document_is_listed_and_tried_again(cli: CommandLine) -> None:
    write_documents(cli.folder)
    run_stages(cli)
    [failure] = cli.run("failures", "--json").json["failures"]
    assert (failure["stage"], failure["doc_id"]) == ("doctags", "docs/bad.docx")
    (cli.folder / "docs" / "bad.docx").unlink()
    (cli.folder / "docs" / "bad.docx").write_text("words that are no longer bad")
    result = cli.run_in_process("retry", "--policy", "io", "--quiet")
    close_readers()
    assert result.code in (0, 3), result.err
    assert [row["doc_id"] for row in cli.rows("doctags") if row["doc_id"] == "docs/bad.docx"] == ["docs/bad.docx"] * 2
