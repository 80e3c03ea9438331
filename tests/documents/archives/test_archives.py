"""Archives are folders: their members are documents, each an item of its own."""

import io
import os
import random
import tarfile
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.documents.archives import members
from inorder.documents.archives.tars import TarArchive
from inorder.documents.convert import parts
from inorder.documents.model import Document
from inorder.pipeline.outcome import FileCounts
from inorder.stage.files import file_stat
from tests.documents.archives.archive_files import FORMATS, add_member, make_archive, make_tar, make_zip
from tests.documents.formats.samples import NAMES, SAMPLES
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")

FILES = {"a.md": b"# First\n\nOne.\n", "inner/b.txt": b"Second.\n", "inner/c.bin": b"\x00\x01\x02"}


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    return StageRuns(tmp_path)


@pytest.mark.parametrize("ending", FORMATS)
def test_the_members_of_an_archive_are_documents(runs: StageRuns, ending: str) -> None:
    (runs.docs / f"box.{ending}").write_bytes(make_archive(ending, FILES))
    assert runs.doctags().counts == FileCounts(new=2, not_read=1)
    assert runs.documents() == [f"docs/box.{ending}/a.md", f"docs/box.{ending}/inner/b.txt"]
    row = runs.rows("doctags")[f"docs/box.{ending}/a.md"]
    assert row["input_path"] == f"{runs.docs}/box.{ending}/a.md"
    assert row["bytes_in"] == len(FILES["a.md"])


@pytest.mark.slow
@pytest.mark.req("DOC-4")
@pytest.mark.parametrize("ending", FORMATS)
def test_only_the_members_that_changed_are_read_again(runs: StageRuns, ending: str) -> None:
    box = runs.docs / f"box.{ending}"
    box.write_bytes(make_archive(ending, FILES))
    runs.doctags()
    changed = FILES | {"inner/b.txt": b"Other.\n", "d.md": b"# New\n"}
    del changed["a.md"]
    box.write_bytes(make_archive(ending, changed))
    assert runs.doctags().counts == FileCounts(new=1, changed=1, not_read=1, removed=1)
    assert runs.done("doctags") == {f"docs/box.{ending}/inner/b.txt", f"docs/box.{ending}/d.md"}
    assert runs.documents() == [f"docs/box.{ending}/d.md", f"docs/box.{ending}/inner/b.txt"]
    assert runs.doctags().counts == FileCounts(unchanged=2, not_read=1)
    box.unlink()
    runs.doctags()
    assert runs.documents() == []


@pytest.mark.slow
def test_a_member_reads_as_the_same_file_in_a_folder(runs: StageRuns) -> None:
    for kind, data in SAMPLES.items():
        (runs.docs / NAMES[kind]).write_bytes(data)
    packed = make_tar({NAMES[kind]: data for kind, data in SAMPLES.items()})
    require_same(runs, "box.tar", packed)


def require_same(runs: StageRuns, box: str, packed: bytes) -> None:
    """Require that the files in `docs` read the same in an archive. In one DATA they would be copies."""
    (runs.folder / "boxes").mkdir()
    (runs.folder / "boxes" / box).write_bytes(packed)
    assert runs.doctags("docs").counts.failed == 0
    plain = inorder.open(runs.data)
    runs.data = runs.folder / "boxed"
    assert runs.doctags("boxes").counts.failed == 0
    boxed = inorder.open(runs.data)
    for name in NAMES.values():
        assert plain.get(f"docs/{name}").json == boxed.get(f"boxes/{box}/{name}").json


def test_archives_within_archives_are_folders_too(runs: StageRuns) -> None:
    innermost = make_zip({"deep.md": b"# Deep\n", "deeper.zip": make_zip({"x.md": b"# X\n"})})
    inner = make_archive("tar.gz", {"third.zip": innermost, "note.md": b"# Note\n"})
    (runs.docs / "box.zip").write_bytes(make_zip({"second.tgz": inner, "top.md": b"# Top\n"}))
    assert runs.doctags().counts == FileCounts(new=3, failed=1)
    assert runs.done("doctags") == {
        "docs/box.zip/top.md",
        "docs/box.zip/second.tgz/note.md",
        "docs/box.zip/second.tgz/third.zip/deep.md",
    }
    assert runs.reasons() == {
        "docs/box.zip/second.tgz/third.zip/deeper.zip": "archives are read to a depth of 3, and this one lies deeper"
    }


def test_an_office_file_with_the_name_of_an_archive_is_a_document(runs: StageRuns) -> None:
    (runs.docs / "report.zip").write_bytes(SAMPLES["xlsx"])
    (runs.docs / "box.zip").write_bytes(make_zip({"talk.zip": SAMPLES["pptx"]}))
    assert runs.doctags().counts == FileCounts(new=2)
    assert runs.documents() == ["docs/box.zip/talk.zip", "docs/report.zip"]


@pytest.mark.slow
def test_an_archive_that_has_not_changed_is_not_opened(runs: StageRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    (runs.docs / "box.zip").write_bytes(make_zip(FILES))
    runs.doctags()
    (runs.docs / "later.md").write_text("# Later\n")

    def refuse(*_: object) -> None:
        raise AssertionError("the archive was listed")

    monkeypatch.setattr("inorder.documents.archives.listing.list_file", refuse)
    assert runs.doctags().counts == FileCounts(new=1, unchanged=2, not_read=1)
    monkeypatch.setattr("inorder.documents.archives.listing.LISTING_VERSION", 99)
    with pytest.raises(AssertionError, match="the archive was listed"):
        runs.doctags()


@pytest.mark.slow
def test_a_compressed_tar_archive_is_unpacked_once_by_a_worker(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{number:03}.{'md' if number % 3 else 'txt'}": f"# Note {number}\n".encode() for number in range(60)}
    (runs.docs / "box.tar.gz").write_bytes(make_archive("tar.gz", files))
    opened = 0
    open_tar = TarArchive._open

    def count(archive: TarArchive) -> tarfile.TarFile:
        nonlocal opened
        opened += 1
        return open_tar(archive)

    monkeypatch.setattr(TarArchive, "_open", count)
    assert runs.doctags(workers=1).counts == FileCounts(new=60)
    assert opened <= 4  # twice for the plan, whose archive is racy here, and once for the worker
    assert members._OPEN_MAX >= 1


def test_links_devices_and_hidden_members_are_not_documents(runs: StageRuns) -> None:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as packed:
        add_member(packed, "link.md", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add_member(packed, "hard.md", type=tarfile.LNKTYPE, linkname="a.md")
        add_member(packed, "null", type=tarfile.CHRTYPE)
        add_member(packed, "pipe", type=tarfile.FIFOTYPE)
        add_member(packed, ".hidden/a.md", b"# Hidden\n")
        add_member(packed, "__MACOSX/a.md", b"# Hidden\n")
        add_member(packed, "folder", type=tarfile.DIRTYPE)
        add_member(packed, "a.md", b"# A\n")
    (runs.docs / "box.tar").write_bytes(written.getvalue())
    assert runs.doctags().counts == FileCounts(new=1, not_read=4)
    assert runs.reasons() == {
        "docs/box.tar/link.md": "a link in an archive, which is not followed",
        "docs/box.tar/hard.md": "a link in an archive, which is not followed",
        "docs/box.tar/null": "not a file: a device or a pipe in an archive",
        "docs/box.tar/pipe": "not a file: a device or a pipe in an archive",
    }


@pytest.mark.slow
def test_documents_of_an_archive_outside_of_the_sources_stay(runs: StageRuns) -> None:
    (runs.docs / "box.zip").write_bytes(make_zip(FILES))
    runs.write("more/other.md", "# Other\n")
    runs.doctags()
    runs.doctags("more")
    assert len(runs.documents()) == 3
    os.unlink(runs.docs / "box.zip")
    runs.doctags("more")
    assert len(runs.documents()) == 3, "only a run of their source removes them"
    runs.doctags()
    assert runs.documents() == ["more/other.md"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_a_long_pdf_in_an_archive_is_read_in_parts(
    runs: StageRuns, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [f"Page {number} of a long report." for number in range(6)]
    pdf = draw_pdf(*map(draw_lines, pages)) + b"%" + random.Random(1).randbytes(150_000).hex().encode() + b"\n"
    (runs.docs / f"box.{ending}").write_bytes(make_archive(ending, {"long.pdf": pdf}))
    read: list[str] = []
    convert_part = parts.convert_part

    def note(content: bytes, doc_id: str, survey: parts.Survey, pages: parts.PageRange, *rest: Any) -> Document:
        read.append(pages.name)
        return convert_part(content, doc_id, survey, pages, *rest)

    monkeypatch.setattr(parts, "convert_part", note)
    assert runs.doctags(split_pages=2).counts == FileCounts(new=1)
    name = f"docs/box.{ending}/long.pdf"
    assert sorted(read) == ["000001-000002", "000003-000004", "000005-000006"]
    assert list(runs.rows("doctags")) == [name]
    assert runs.rows("doctags")[name]["pages"] == 6
    assert set(runs.files()) == {f"docs/box.{ending}", name}
