"""`inorder verify` on a library: what is wrong is found and named, and what it says to do mends it."""

import errno
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inorder.cli.data_dir import DataDirectory
from inorder.errors import InfrastructureError
from inorder.host import filesystem as filesystem_module
from inorder.host.zstd import load_zstd
from inorder.sinks import packed_lines
from tests.pipeline.runs import Library, write
from tests.support.command_line import CommandLine, CommandResult, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("CLI-6"), pytest.mark.process]

Damage = Callable[[Path], object]
FILES = {
    "a.md": "# Alpha\n\nThe first answer.\n",
    "b.md": "# Beta\n\nThe second answer.\n",
    "code.py": "def answer():\n    return 42\n",
    "torn.pdf": b"%PDF-1.4 and no more",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and the DATA that two runs have left: the second had something to do."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder / "docs", **FILES)
    Library(folder / "data").run(folder / "docs")
    write(folder / "docs", **{"c.md": "# Gamma\n\nThe third answer.\n"})
    Library(folder / "data").run(folder / "docs")
    (folder / "docs").rename(folder / "kept")  # so that a copy of it is the same source, which has moved
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    copy = tmp_path / "copy"
    shutil.copytree(whole / "data", copy / "data", symlinks=True)
    shutil.copytree(whole / "kept", copy / "docs")
    return copy


def run_there(folder: Path, *arguments: str) -> CommandResult:
    return CommandResult(*run_in_process(arguments, folder, clean_environment()))


def look(data: Path) -> dict[Path, tuple[bytes, int]]:
    found = [path for path in data.rglob("*") if path.is_file() and path.parent.name != "locks"]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def verify(folder: Path) -> list[tuple[str, str, str]]:
    """What is found: kind, path and message. Nothing is changed by looking."""
    before = look(folder / "data")
    ended = run_there(folder, "verify", "--json", "--data", str(folder / "data"))
    assert look(folder / "data") == before
    assert ended.code == (6 if ended.json["problems"] else 0)
    return [(each["kind"], each["path"], each["message"]) for each in ended.json["problems"]]


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "data" / "library.sqlite", isolation_level=None)) as database:
        database.executescript(statement)


def manifest(folder: Path, name: str = "doctags") -> Path:
    return folder / "data" / "manifests" / f"{name}.jsonl"


def rewrite(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def find_vectors(folder: Path) -> Path:
    [path, *_] = (folder / "data").glob("library.vectors.*")
    return path


def test_a_library_as_runs_have_left_it_is_whole(folder: Path) -> None:
    assert verify(folder) == []
    library = Library(folder / "data")
    library.run(folder / "docs")  # nothing to do
    assert verify(folder) == []
    library.run(retries=True)
    assert verify(folder) == []
    (folder / "docs" / "a.md").unlink()
    library.run(folder / "docs")
    assert verify(folder) == []
    ended = run_there(folder, "verify", "--data", str(folder / "data"))
    assert (ended.code, ended.out, ended.err) == (0, "", "no problems: the library is as it was written\n")


def test_stages_of_users_in_the_same_data_are_checked_with_it(cli: CommandLine) -> None:
    write(cli.folder / "docs", **FILES)
    Library(cli.data).run(cli.folder / "docs")
    cli.sources("one", "two")
    assert cli.stage_in_process("count").code == 0
    ended = cli.run("verify")
    said = "no problems: the library is as it was written; 1 stage, outputs of 2 items checked\n"
    assert (ended.code, ended.err) == (0, said)
    cli.output("0.txt").write_text("7\n")
    found = cli.run("verify", "--json").json["problems"]
    assert [(each["kind"], each["stage"], each["path"]) for each in found] == [("altered", "count", "counts/0.txt")]


AGAIN, FORCED, REBUILT = "again", "forced", "rebuilt"


def mend(folder: Path, how: str) -> None:
    """Do what the message says."""
    if how == REBUILT:
        (folder / "data" / "library.sqlite").unlink()
    Library(folder / "data").run(folder / "docs", force=how == FORCED)


@pytest.mark.parametrize(
    ("damage", "said", "how"),
    [
        ("UPDATE results SET data = x'00' WHERE id = 1", "the result of step", FORCED),
        ("UPDATE results SET output = x'00' WHERE id = 1", "its hash is not that of its content", REBUILT),
        ("UPDATE chunk_rows SET name = 'other'", "its rows do not match its digest", FORCED),
        ("DELETE FROM texts", "is damaged", FORCED),
        ("DELETE FROM term_blocks", "inverted index", REBUILT),
        ("UPDATE term_blocks SET data = x'00'", "inverted index", REBUILT),
        ("DELETE FROM segments", "inverted index", REBUILT),
        ("DELETE FROM vector_files", "", REBUILT),
        ("UPDATE vectors SET chunks = x'6300000000000000'", "vectors", REBUILT),
        ("UPDATE vector_files SET dead = 1", "vectors", REBUILT),
        ("UPDATE totals SET data = x'00'", "", REBUILT),
        ("DELETE FROM items WHERE id = 1", "rows belong to nothing", REBUILT),
        ("UPDATE inorder_position SET checksum = checksum + 1", "it was exchanged or restored", AGAIN),
    ],
)
def test_damage_in_the_library_is_found_and_what_is_said_mends_it(
    folder: Path, damage: str, said: str, how: str
) -> None:
    change(folder, damage)
    found = verify(folder)
    assert found
    assert any(said in message for _, _, message in found)
    remedies = {AGAIN: "run the same command again", FORCED: "--force SRC", REBUILT: "remove library.sqlite"}
    assert all(path.startswith("library.") for _, path, _ in found)
    assert any(remedies[how] in message for _, _, message in found)
    mend(folder, how)
    assert verify(folder) == []


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda folder: find_vectors(folder).unlink(), "missing"),
        (lambda folder: find_vectors(folder).write_bytes(find_vectors(folder).read_bytes()[:-8]), "altered"),
        (lambda folder: rewrite_middle(find_vectors(folder)), "altered"),
    ],
    ids=["missing", "short", "altered"],
)
def test_files_with_vectors_are_checked_and_written_again(folder: Path, damage: Damage, expected: str) -> None:
    name = find_vectors(folder).name
    damage(folder)
    [(kind, path, message)] = verify(folder)
    assert (kind, path) == (expected, name)
    assert message.endswith("run `inorder run SRC` again, which writes it")
    if "remove it and" in message:
        (folder / "data" / name).unlink()
    mend(folder, AGAIN)
    assert verify(folder) == []


def rewrite_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.req("CLI-6", "RUN-7")
@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda folder: manifest(folder).write_bytes(manifest(folder).read_bytes() + b'{"stage":'), "torn"),
        (lambda folder: manifest(folder).write_bytes(manifest(folder).read_bytes()[:-1]), "torn"),
        (lambda folder: rewrite(manifest(folder), b'"seq":0,', b'"seq":9,'), "altered"),
        (lambda folder: rewrite(manifest(folder), b'"duration_s":0.', b'"duration_s":1.'), "altered"),
        (lambda folder: repeat_row(manifest(folder)), "altered"),
        (
            lambda folder: rewrite(manifest(folder, "chunk"), b'{"stage":"chunk","doc', b'{"stage":"count","doc'),
            "altered",
        ),
        (lambda folder: manifest(folder).unlink(), "missing"),
        (lambda folder: (folder / "data" / "journal" / "run.journal").unlink(), "missing"),
        (lambda folder: (folder / "data" / "journal" / "run.journal").write_bytes(b"nonsense"), "journal"),
        (lambda folder: leave(folder / "data" / ".staging" / "run" / "half"), "leftover"),
        (lambda folder: leave(folder / "data" / "journal" / "run.journal.new"), "leftover"),
        (lambda folder: leave(folder / "data" / "stray.txt"), "orphaned"),
    ],
)
def test_what_lies_beside_the_library_is_checked(folder: Path, damage: Damage, expected: str) -> None:
    damage(folder)
    found = verify(folder)
    assert found[0][0] == expected
    assert all(";" in message or expected == "orphaned" for _, _, message in found)


def repeat_row(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[1], *lines[2:]]))


def leave(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")


@pytest.mark.parametrize("name", ["doctags", "index"])
def test_a_torn_manifest_is_mended_by_the_next_run(folder: Path, name: str) -> None:
    manifest(folder, name).write_bytes(manifest(folder, name).read_bytes() + b'{"stage":')
    write(folder / "docs", **{"d.md": "# Delta\n\nThe fourth answer.\n"})
    mend(folder, AGAIN)
    assert verify(folder) == []
    rows = [json.loads(line) for line in manifest(folder, name).read_text().splitlines()]
    assert [row["doc_id"] for row in rows].count("docs/d.md") == 1


@pytest.mark.req("RUN-7")
def test_rows_that_are_compressed_are_checked_as_they_were_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    write(folder / "docs", **{"d.md": "# Delta\n\nThe fourth answer.\n"})
    Library(folder / "data").run(folder / "docs")
    packed = manifest(folder).with_suffix(".jsonl.zst")
    assert packed.exists()
    assert [found for found in verify(folder) if found[1].startswith("manifests/")] == []
    zstd = load_zstd()
    packed.write_bytes(zstd.compress(zstd.decompress(packed.read_bytes())[:100]))  # less than the first row
    kind, path, message = next(found for found in verify(folder) if found[1].startswith("manifests/"))
    assert (kind, path) == ("altered", "manifests/doctags.jsonl.zst")
    assert "restore it from a backup" in message


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
def test_data_that_cannot_be_written_is_verified(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(self: DataDirectory, stage: str) -> None:
        cause = OSError(code, "it cannot be written")
        raise InfrastructureError(f"stage {stage} cannot be locked") from cause

    monkeypatch.setattr(DataDirectory, "lock", refuse)
    assert verify(folder) == []
    change(folder, "UPDATE results SET data = x'00' WHERE id = 1")
    assert verify(folder) != []


LOOKING = ["failures", "verify", "inspect", "manifest --state", "search answer", "show docs/a.md", "report --json"]


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize("command", LOOKING)
@pytest.mark.parametrize(
    ("damage", "code", "said"),
    [
        (lambda path: path.unlink(), 6, "library.sqlite is missing"),
        (lambda path: path.write_bytes(b"not a database at all, but long enough to be one" * 100), 6, "is damaged"),
        (lambda path: change_number(path, "user_version", 99), 2, "was written by a newer version of inorder"),
        (lambda path: change_number(path, "application_id", 7), 2, "is a database, but not a library of inorder"),
    ],
    ids=["missing", "damaged", "newer", "another"],
)
def test_a_library_that_cannot_be_read_is_one_clear_line(
    folder: Path, command: str, damage: Damage, code: int, said: str
) -> None:
    damage(folder / "data" / "library.sqlite")
    ended = run_there(folder, *command.split(), "--data", str(folder / "data"))
    assert said in ended.out + ended.err
    assert ended.code == (6 if command == "verify" else code)
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err


def change_number(path: Path, name: str, value: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"PRAGMA {name}={value}")


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [False, True], ids=["as it is", "packed"])
def test_manifests_are_verified_without_being_opened_for_writing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    if is_packed:
        monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
        write(folder / "docs", **{"d.md": "# Delta\n\nThe fourth answer.\n"})
        Library(folder / "data").run(folder / "docs")
        assert (folder / "data/manifests/doctags.jsonl.zst").exists()
    with monkeypatch.context() as patch:
        patch.setattr(filesystem_module.SystemFilesystem, "open", _refuse)
        assert verify(folder) == []
    if not is_packed:
        rewrite(manifest(folder, "index"), b'"duration_s"', b'"duration_S"')
        assert [path for _, path, _ in verify(folder)] == ["manifests/index.jsonl"]


def _refuse(self: object, path: str) -> None:
    raise OSError(errno.EROFS, "Read-only file system", path)
