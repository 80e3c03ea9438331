"""A long PDF is read in parts, with the same result as at once, and is one file for users."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.convert import parts
from inorder.documents.convert.settings import ConvertSettings
from inorder.errors import ReadError
from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import FileCounts
from tests.documents.archives.archive_files import make_zip
from tests.documents.pdf_files import draw_lines, draw_pdf

from .runs import Library, count_steps, write

pytestmark = [pytest.mark.req("PIP-3"), pytest.mark.slow]
PAGES = 5
ROOT = Path(__file__).parents[2]


def make_pdf(word: str, pages: int = PAGES) -> bytes:
    return draw_pdf(*(draw_lines(f"The {word} is on page {number}.", "It is lit.") for number in range(pages)))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LARGE_BYTES", 1)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{"long.pdf": make_pdf("lamp"), "short.pdf": make_pdf("horn", 2), "a.md": "# Ash\n\nA tree.\n"})
    write(root, **{"box.zip": make_zip({"inner.pdf": make_pdf("letter")})})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return split(tmp_path / "data")


def split(data: Path, pages: int = 2) -> Library:
    return Library(data, convert=ConvertSettings(split_pages=pages))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that were read as parts."""
    found: list[str] = []
    convert_part = parts.convert_part

    def note(content: bytes, name: str, surveyed: Any, pages: parts.PageRange, *rest: Any) -> Any:
        found.append(f"{name.rpartition('/')[2]} {pages.first}-{pages.last}")
        return convert_part(content, name, surveyed, pages, *rest)

    monkeypatch.setattr(parts, "convert_part", note)
    return found


def list_rows(library: Library) -> list[str]:
    with closing(LibraryReader(str(library.data))) as reader:
        return [file.item_id for file in reader.list_files() if "%" in file.item_id]


def rebuild(tmp_path: Path, docs: Path) -> str:
    fresh = split(tmp_path / "fresh", 0)
    fresh.run(docs)
    return fresh.read_content_hash()


@pytest.mark.req("PIP-1")
def test_the_result_is_that_of_reading_at_once(docs: Path, library: Library, tmp_path: Path, read: list[str]) -> None:
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=4)
    assert count_steps(outcome) == {"doctags": 4, "chunk": 4, "index": 4, "embed:dense": 4}
    assert sorted(read) == [f"{name} {pages}" for name in ("inner.pdf", "long.pdf") for pages in ("1-2", "3-4", "5-5")]
    assert library.read_content_hash() == rebuild(tmp_path, docs)
    assert list_rows(library) == []
    assert library.run(docs).steps == {}


def test_manifests_have_files_and_no_parts(docs: Path, library: Library) -> None:
    library.run(docs)
    rows = [json.loads(line) for path in (library.data / "manifests").iterdir() for line in path.open()]
    ids = {row["doc_id"] for row in rows if not row["doc_id"].startswith("__")}
    assert ids == {"docs/a.md", "docs/box.zip/inner.pdf", "docs/long.pdf", "docs/short.pdf"}


@pytest.mark.slow
def test_a_file_with_a_failed_part_is_one_failed_file(
    docs: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(parts, "convert_part", _fail_at("long.pdf", 3, parts.convert_part))
        assert library.run(docs).counts == FileCounts(new=3, failed=1)
        with closing(LibraryReader(str(library.data))) as reader:
            [failure] = reader.list_failures()
        assert (failure.item_id, failure.step, failure.category) == ("docs/long.pdf", "doctags", "input")
        assert failure.message == "pages 3 to 4 could not be read: the page is torn"
        assert list_rows(library) == []
        assert library.run(docs).counts == FileCounts(unchanged=3, failed=1)
    assert library.run(docs, retries=True).counts.changed == 1
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.req("CAN-3")
def test_a_file_with_failed_parts_counts_once_in_the_error_budget(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "convert_part", _fail_at("long.pdf", 3, parts.convert_part))
    outcome = library.run(docs, error_budget=1)
    assert (outcome.stop_kind, outcome.counts) == (None, FileCounts(new=3, failed=1))
    write(docs, **{"long.pdf": make_pdf("fog")})
    assert library.run(docs, error_budget=0).stop_kind == "error budget"
    assert library.run(docs).counts == FileCounts(unchanged=3, failed=1)


def _fail_at(name: str, first: int, function: Any, error: Exception | None = None) -> Any:
    def convert_part(content: bytes, item_id: str, surveyed: Any, pages: parts.PageRange, *rest: Any) -> Any:
        if item_id.endswith(name) and pages.first == first:
            raise error or ReadError("the page is torn")
        return function(content, item_id, surveyed, pages, *rest)

    return convert_part


@pytest.mark.req("PIP-1")
def test_a_rerun_goes_on_with_the_parts_that_are_there(
    docs: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(parts, "convert_part", _fail_at("long.pdf", 3, parts.convert_part, RuntimeError("out of luck")))
        assert library.run(docs).counts.failed == 1
    assert len(list_rows(library)) == 4
    read.clear()
    assert library.run(docs).counts.changed == 1
    assert read == ["long.pdf 3-4"]
    assert list_rows(library) == []
    assert library.read_content_hash() == rebuild(tmp_path, docs)


KILLED = """
import os, sys, time
from pathlib import Path
from inorder.documents.convert import parts
from tests.pipeline.test_parts import split

convert_part = parts.convert_part

def die(content, name, surveyed, pages, *rest):
    if name.endswith("long.pdf") and pages.first == 5:
        time.sleep(1.5)
        os._exit(9)
    return convert_part(content, name, surveyed, pages, *rest)

parts.LARGE_BYTES, parts.convert_part = 1, die
split(Path(sys.argv[2])).run(Path(sys.argv[1]))
"""


@pytest.mark.req("PIP-1")
@pytest.mark.process
def test_parts_survive_a_kill(docs: Path, library: Library, tmp_path: Path, read: list[str]) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, docs, library.data], cwd=ROOT, check=False)
    assert ended.returncode == 9
    assert "docs/long.pdf/%pages-000001-000002" in list_rows(library)
    assert library.run(docs).counts.files == 4
    assert "long.pdf 5-5" in read
    assert "long.pdf 1-2" not in read
    assert list_rows(library) == []
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["content", "pages", "gone"])
def test_parts_of_something_else_are_not_used_and_go(
    docs: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str], change: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(parts, "convert_part", _fail_at("long.pdf", 3, parts.convert_part, RuntimeError("out of luck")))
        library.run(docs)
    read.clear()
    if change == "content":
        write(docs, **{"long.pdf": make_pdf("fire")})
    if change == "pages":
        library = split(library.data, 3)
    if change == "gone":
        (docs / "long.pdf").unlink()
    library.run(docs)
    expected = {"content": ["1-2", "3-4", "5-5"], "pages": ["1-3", "4-5"], "gone": []}[change]
    assert sorted(read) == [f"long.pdf {pages}" for pages in expected]
    assert list_rows(library) == []
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.req("PIP-3")
def test_progress_counts_files_and_no_parts(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parts, "convert_part", _fail_at("long.pdf", 3, parts.convert_part))
    outcome = library.run(docs, telemetry=True, progress="lines", verbose=True)
    shown = capfd.readouterr().err
    assert [(error.item_id, error.count) for error in outcome.errors] == [("docs/long.pdf", 1)]
    assert "[run] 4/4 files | 1 failed |" in shown
    assert "%" not in shown
    [telemetry] = (library.data / "telemetry").iterdir()
    events = [json.loads(line) for line in telemetry.open()]
    snapshot = [event for event in events if event["event"] == "snapshot"][-1]
    counts = {name: snapshot[f"items_{name}"] for name in ("total", "succeeded", "skipped", "failed")}
    assert counts == {"total": 4, "succeeded": 3, "skipped": 0, "failed": 1}
    assert snapshot["item_exec_ms"]["count"] == 4
    assert snapshot["errors"] == {"input": 1}
    assert {key: group["items"] for key, group in snapshot["groups"].items()} == {"markdown": 1, "pdf": 2}
    ended = events[-1]["outcome"]
    assert (ended["scheduled"], ended["succeeded"], ended["failed"]) == (4, 3, 1)
