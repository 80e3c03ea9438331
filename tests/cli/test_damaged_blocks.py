"""A bit that has changed in DATA: a question says so, or the next run does, and what can be made again is."""

import shutil
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from bench.damage import drive
from inorder.index import block_sums
from inorder.library.sink import LibrarySink
from tests.pipeline.runs import Library, write
from tests.support.command_line import CommandResult, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("SIL-2"), pytest.mark.process]

SUMS = "library.sums"
FILES = {f"{n}.md": f"# Lamp {n}\n\n{'Words of a lamp. ' * 40}{n}\n" for n in range(20)}
QUESTIONS = ["search --mode lexical lamp", "search --mode dense lamp", "search def:lamp", "show docs/1.md", "failures"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write(folder / "docs", **FILES)
    Library(folder / "data").run(folder / "docs")
    (folder / "docs").rename(folder / "kept")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A folder with documents and DATA, to be damaged."""
    shutil.copytree(whole / "data", tmp_path / "data")
    shutil.copytree(whole / "kept", tmp_path / "docs")
    return tmp_path


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No library is small enough to be checked before a question is answered."""
    monkeypatch.setattr(block_sums, "READ_BYTES_MAX", 0)
    block_sums._find_in.cache_clear()
    yield
    block_sums._find_in.cache_clear()


def ask(folder: Path, question: str) -> CommandResult:
    arguments = (*question.split(), "--data", str(folder / "data"))
    return CommandResult(*run_in_process(arguments, folder, clean_environment()))


def flip(path: Path, place: float) -> None:
    """Change one bit."""
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)


def find_vectors(folder: Path) -> Path:
    [path] = (folder / "data").glob("library.vectors.*")
    return path


@pytest.mark.parametrize("question", [*QUESTIONS, "export --to out", "export search --to out", "run docs --policy io"])
@pytest.mark.parametrize("place", [0.01, 0.6])
def test_a_bit_of_the_library_that_has_changed_is_one_clear_line(folder: Path, question: str, place: float) -> None:
    flip(folder / "data" / "library.sqlite", place)
    ended = ask(folder, question)
    assert ended.code == 6
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert "library.sqlite is damaged (1 of " in line
    assert "remove it and run `inorder run SRC` again" in line
    assert ask(folder, "verify").code == 6


@pytest.mark.parametrize("size", ["as it is", "large"])
def test_vectors_that_have_changed_are_not_searched_and_the_next_run_writes_them_again(
    folder: Path, request: pytest.FixtureRequest, size: str
) -> None:
    if size == "large":
        request.getfixturevalue("large")
    flip(find_vectors(folder), 0.5)
    dense = ask(folder, "search --mode dense lamp")
    assert dense.code == 6
    assert "blocks are not those that were written" in dense.err
    hybrid = ask(folder, "search --mode hybrid lamp")
    assert hybrid.code == 0
    assert "hybrid search uses words only" in hybrid.err
    assert ask(folder, "search --mode lexical lamp").code == 0
    assert ask(folder, "export search --to out").code == 6
    assert ask(folder, "verify").code == 6
    assert "was damaged, and is written again" in Library(folder / "data").run(folder / "docs").notes[0]
    assert ask(folder, "verify").code == 0
    assert ask(folder, "search --mode dense lamp").code == 0


@pytest.mark.parametrize("size", ["as it is", "large"])
@pytest.mark.parametrize("name", ["library.sqlite", "library.vectors.*"])
def test_a_report_says_what_is_damaged(folder: Path, request: pytest.FixtureRequest, name: str, size: str) -> None:
    if size == "large":
        request.getfixturevalue("large")
    assert ask(folder, "report --output page.html").code == 0
    [damaged] = (folder / "data").glob(name)
    flip(damaged, 0.6)
    ended = ask(folder, "report --output page.html")
    assert ended.code == 6
    [line] = ended.err.splitlines()
    assert f"{damaged.name} is damaged" in line
    assert f"{damaged.name} is damaged" in (folder / "page.html").read_text()
    found = ask(folder, "report --json")
    assert found.code == 6
    assert found.json["verdict"]["level"] == "bad"
    assert f"{damaged.name} is damaged" in found.json["verdict"]["sentence"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("command", ["run docs --policy io", "export --to out", "verify"])
def test_a_library_that_is_too_large_for_a_question_is_checked_by_what_reads_all_of_it(
    folder: Path, command: str
) -> None:
    flip(folder / "data" / "library.sqlite", 0.99)
    assert ask(folder, command).code == 6


@pytest.mark.usefixtures("large")
def test_a_question_that_meets_garbage_says_that_the_library_is_damaged(folder: Path) -> None:
    path = folder / "data" / "library.sqlite"
    content = path.read_bytes()
    for page in range(1, len(content) // 8192):
        path.write_bytes(content[: page * 8192 + 8] + bytes([page]) * 4000 + content[page * 8192 + 4008 :])
        for question in QUESTIONS:
            ended = ask(folder, question)
            assert ended.code in (0, 2, 3, 6), (page, question, ended.err)
            assert "Traceback" not in ended.err
            assert "Error:" not in ended.err, (page, question)


def test_checksums_follow_every_run(folder: Path) -> None:
    library = Library(folder / "data")
    for change in range(3):
        write(folder / "docs", **{f"new{change}.md": f"# New {change}\n\nText {change}.\n"})
        (folder / "docs" / f"{change}.md").unlink()
        library.run(folder / "docs")
        followed = (folder / "data" / SUMS).read_bytes()
        (folder / "data" / SUMS).unlink()
        sums = block_sums.BlockSums(str(folder / "data"))
        sums.write(library.read_run_number())
        assert (folder / "data" / SUMS).read_bytes() == followed


def test_there_are_no_checksums_while_a_run_writes(folder: Path) -> None:
    with closing(LibrarySink(str(folder / "data"))):
        assert not (folder / "data" / SUMS).exists()
        assert ask(folder, "search lamp").code == 0
    assert (folder / "data" / SUMS).exists()


def test_a_library_without_checksums_is_read_and_gets_them_from_the_next_run(folder: Path) -> None:
    (folder / "data" / SUMS).unlink()
    assert ask(folder, "show docs/1.md").code == 0
    assert ask(folder, "verify").code == 0
    Library(folder / "data").run(folder / "docs")
    flip(folder / "data" / "library.sqlite", 0.5)
    assert ask(folder, "show docs/1.md").code == 6


def test_a_library_that_was_restored_from_a_backup_is_not_damaged(folder: Path) -> None:
    path = folder / "data" / "library.sqlite"
    backup = path.read_bytes()
    write(folder / "docs", **{"new.md": "# New\n\nText.\n"})
    Library(folder / "data").run(folder / "docs")
    path.write_bytes(backup)
    assert ask(folder, "search --mode lexical lamp").code == 0
    Library(folder / "data").run(folder / "docs")
    assert ask(folder, "verify").code == 0


def test_checksums_that_are_damaged_stop_nobody_and_are_written_again(folder: Path) -> None:
    for place in (0.0, 0.1, 0.9):
        flip(folder / "data" / SUMS, place)
        assert ask(folder, "search lamp").code == 0
        ended = ask(folder, "verify")
        assert ended.code == 6
        assert SUMS in ended.out
        Library(folder / "data").run(folder / "docs")
        assert ask(folder, "verify").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("change", ["more sums than blocks", "fewer", "a name with a zero byte", "another folder"])
def test_checksums_that_no_library_has_stop_nobody(folder: Path, change: str) -> None:
    """Whoever made them made their own checksum, too."""
    found = block_sums._read(str(folder / "data"))
    assert found is not None
    sums = found.files["library.sqlite"]
    files = {
        "more sums than blocks": {"library.sqlite": block_sums._FileSums(sums.size, sums.sums + b"more")},
        "fewer": {"library.sqlite": block_sums._FileSums(sums.size, sums.sums[:-4])},
        "a name with a zero byte": {**found.files, "library.vectors.\0": sums},
        "another folder": {**found.files, "library.vectors./../../docs/1.md": sums},
    }[change]
    content = msgspec.msgpack.encode(msgspec.structs.replace(found, files=files))
    (folder / "data" / SUMS).write_bytes(zlib.crc32(content).to_bytes(4, "little") + content)
    assert block_sums.is_damaged(str(folder / "data"))
    assert ask(folder, "search --mode lexical lamp").code == 0


def test_damages_of_any_file_are_noticed(tmp_path: Path) -> None:
    said: list[str] = []
    counts = drive(tmp_path, 20, 40, say=said.append)
    assert sum(counts.values()) == 20
    assert said == []
