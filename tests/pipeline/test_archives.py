"""Members of archives and attachments of mail are files of their own, and an unchanged archive is not opened again."""

import os
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from inorder.documents.archives import limits, listing
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert import settings as convert_settings
from inorder.pipeline.outcome import FileCounts
from tests.documents.archives.archive_files import make_archive, make_zip
from tests.documents.archives.test_archives_hostile import ENCRYPTED
from tests.documents.docx_files import make_docx

from .runs import Library, count_steps, write

pytestmark = [pytest.mark.req("PIP-3"), pytest.mark.slow]
NOTE = "# {0}\n\nThe {0} stands at the edge of the wood.\n"
ASH, BIRCH, CEDAR = (NOTE.format(name).encode() for name in ("ash", "birch", "cedar"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    inner = make_zip({"cedar.md": CEDAR})
    box = {
        "letters/ash.md": ASH,
        "birch.md": BIRCH,
        "inner.zip": inner,
        "tool.py": b"print()\n",
        "inner.zip.md": b"# Inner\n\nNot the box.\n",
    }
    write(
        root,
        **{"box.zip": make_zip(box), "box.zip.bak": b"\x89PNG\r\n\x1a\n", "box.md": "# Box\n\nA box of letters.\n"},
    )
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the archives that were listed."""
    names: list[str] = []
    list_file = listing.list_file

    def note(path: str, archive_format: str) -> listing.Listing:
        names.append(os.path.basename(path))
        return list_file(path, archive_format)

    monkeypatch.setattr(listing, "list_file", note)
    return names


def rebuild(tmp_path: Path, docs: Path) -> str:
    fresh = Library(tmp_path / "fresh")
    fresh.run(docs)
    return fresh.read_content_hash()


def make_mail(files: dict[str, bytes]) -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "Letters", "keeper@example.org"
    mail.set_content("See the letters below.")
    for name, content in files.items():
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return bytes(mail)


MEMBERS = ["docs/box.zip/birch.md", "docs/box.zip/inner.zip.md", "docs/box.zip/inner.zip/cedar.md"]
MEMBERS += ["docs/box.zip/letters/ash.md"]


def test_members_are_files_and_no_code(docs: Path, library: Library) -> None:
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=5, not_read=2)
    assert library.list_searchable() == ["docs/box.md", *MEMBERS]
    assert outcome.source_files == 0


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.zst"])
def test_a_rerun_opens_no_archive_and_computes_nothing(
    tmp_path: Path, library: Library, opened: list[str], ending: str
) -> None:
    docs = tmp_path / "docs"
    write(docs, **{f"box.{ending}": make_archive(ending, {"a.md": ASH, "b/c.md": BIRCH, "d.bin": b"\0"})})
    assert library.run(docs).counts == FileCounts(new=2, not_read=1)
    before = library.read_content_hash()
    assert opened == [f"box.{ending}"]
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(unchanged=2, not_read=1)
    assert outcome.steps == {}
    assert opened == [f"box.{ending}"]
    assert library.read_content_hash() == before


def test_an_archive_with_a_new_time_and_the_same_bytes_is_not_opened(
    docs: Path, library: Library, opened: list[str]
) -> None:
    library.run(docs)
    os.utime(docs / "box.zip", ns=(1_000_000_000, 1_000_000_000))
    assert library.run(docs).counts == FileCounts(unchanged=5, not_read=2)
    assert opened == ["box.zip"]


@pytest.mark.slow
def test_only_changed_members_are_read_again(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    write(docs, **{"box.zip": make_zip({"birch.md": BIRCH, "letters/ash.md": ASH + b"more", "elm.md": b"# Elm\n"})})
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=1, changed=1, unchanged=2, not_read=1, removed=3)
    assert count_steps(outcome)["doctags"] == 2
    assert library.read_content_hash() == rebuild(tmp_path, docs)
    assert library.run(docs).steps == {}


def test_a_removed_archive_takes_its_members_with_it(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    (docs / "box.zip").unlink()
    assert library.run(docs).counts == FileCounts(unchanged=1, not_read=1, removed=5)
    assert library.list_searchable() == ["docs/box.md"]
    assert library.read_content_hash() == rebuild(tmp_path, docs)


def test_steps_after_the_reader_do_not_open_the_archive(docs: Path, library: Library, opened: list[str]) -> None:
    library.run(docs)
    other = Library(library.data, chunk=ChunkSettings(tokens_max=3))
    assert count_steps(other.run(docs)) == {"chunk": 5, "index": 5, "embed:dense": 5}
    assert opened == ["box.zip"]


def test_another_reader_opens_the_archive_once(
    docs: Path, library: Library, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library.run(docs)
    monkeypatch.setattr(convert_settings, "VERSION", "other")
    assert count_steps(library.run(docs)) == {"doctags": 5}
    assert library.run(docs).steps == {}
    assert set(opened) == {"box.zip"}


def test_a_damaged_archive_is_one_failed_file(docs: Path, library: Library) -> None:
    write(docs, **{"box.zip": b"PK\3\4 not really"})
    assert library.run(docs).counts == FileCounts(new=1, not_read=1, failed=1)
    assert library.list_failures() == [("docs/box.zip", "doctags", "input")]
    outcome = library.run(docs)
    assert (outcome.counts.failed, outcome.steps) == (1, {})
    write(docs, **{"box.zip": make_zip({"ash.md": ASH})})
    assert library.run(docs).counts.new == 1
    assert library.list_failures() == []


@pytest.mark.slow
def test_members_before_the_damage_are_read(docs: Path, library: Library, tmp_path: Path) -> None:
    whole = make_archive("tar", {"ash.md": ASH, "birch.md": BIRCH * 2000})
    write(docs, **{"box.zip": whole, "cut.tar": whole[: len(whole) // 2]})
    (docs / "box.zip").unlink()
    outcome = library.run(docs)
    assert "docs/cut.tar/ash.md" in library.list_searchable()
    assert "docs/cut.tar" in [item_id for item_id, _, _ in library.list_failures()]
    again = library.run(docs)
    assert (again.counts.failed, again.steps) == (outcome.counts.failed, {})
    write(docs, **{"cut.tar": whole})
    library.run(docs)
    assert library.list_failures() == []
    assert library.read_content_hash() == rebuild(tmp_path, docs)


def test_a_mail_is_a_document_and_has_attachments(docs: Path, library: Library, opened: list[str]) -> None:
    write(docs, **{"letter.eml": make_mail({"ash.md": ASH + b"!", "box.zip": make_zip({"elm.md": b"# Elm"})})})
    library.run(docs)
    mail = ["docs/letter.eml", "docs/letter.eml/ash.md", "docs/letter.eml/box.zip/elm.md"]
    assert [each for each in library.list_searchable() if ".eml" in each] == mail
    assert library.run(docs).steps == {}
    assert opened == ["box.zip", "letter.eml"]


@pytest.mark.slow
def test_an_attachment_that_changes_is_read_again_and_no_other(docs: Path, library: Library, tmp_path: Path) -> None:
    write(docs, **{"letter.eml": make_mail({"a.md": ASH + b"!", "b.md": BIRCH + b"!"})})
    library.run(docs)
    write(docs, **{"letter.eml": make_mail({"a.md": ASH + b"!", "c.md": BIRCH + b"?"})})
    outcome = library.run(docs)
    assert (outcome.counts.new, outcome.counts.changed, outcome.counts.removed) == (1, 1, 1)
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.slow
def test_copies_within_archives_are_found(docs: Path, library: Library, tmp_path: Path) -> None:
    write(docs, **{"other.tar": make_archive("tar", {"a.md": ASH, "z.md": b"# Z"}), "zz.md": BIRCH})
    outcome = library.run(docs)
    assert outcome.counts.copies == 2
    copies = [("docs/other.tar/a.md", "docs/box.zip/letters/ash.md"), ("docs/zz.md", "docs/box.zip/birch.md")]
    assert library.list_copies() == copies
    assert library.run(docs).counts.copies == 2
    (docs / "box.zip").unlink()
    library.run(docs)
    assert library.list_copies() == []
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.slow
def test_an_office_file_with_the_name_of_an_archive_is_a_document(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    write(docs, **{"box.zip": make_docx("<w:p><w:r><w:t>Ash</w:t></w:r></w:p>")})
    outcome = library.run(docs)
    assert outcome.counts.removed == 5
    assert library.list_searchable() == ["docs/box.md", "docs/box.zip"]
    assert library.run(docs).steps == {}
    write(docs, **{"box.zip": make_zip({"ash.md": ASH})})
    library.run(docs)
    assert library.list_searchable() == ["docs/box.md", "docs/box.zip/ash.md"]
    assert library.read_content_hash() == rebuild(tmp_path, docs)


def test_a_source_can_be_one_archive(docs: Path, library: Library) -> None:
    assert library.run(docs / "box.zip").counts == FileCounts(new=4, not_read=1)
    assert library.run(docs / "box.zip").counts == FileCounts(unchanged=4, not_read=1)


@pytest.mark.slow
@pytest.mark.req("PIP-1")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_run_that_stops_after_the_listing_leaves_nothing_out(
    docs: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    if not is_first:
        library.run(docs)
        write(docs, **{"box.zip": make_zip({"birch.md": BIRCH + b"more", "elm.md": b"# Elm\n"})})
    with monkeypatch.context() as patch:
        patch.setattr("inorder.pipeline.passes.run_pass", _stop)
        with pytest.raises(KeyboardInterrupt):
            library.run(docs)
    outcome = library.run(docs)
    if is_first:
        assert outcome.counts == FileCounts(new=5, not_read=2)
    else:
        assert outcome.counts == FileCounts(new=1, changed=1, unchanged=1, not_read=1, removed=4)
    assert library.read_content_hash() == rebuild(tmp_path, docs)
    assert library.run(docs).steps == {}


def _stop(*arguments: object, **options: object) -> Callable[[], None]:
    raise KeyboardInterrupt


@pytest.mark.req("ROB-1")
def test_what_is_wrong_with_the_attachments_of_a_mail_is_a_file_of_its_own(
    tmp_path: Path, library: Library, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEMBERS_MAX", 1)
    write(tmp_path / "docs", **{"letter.eml": make_mail({"a.md": ASH, "b.md": BIRCH})})
    assert library.run(tmp_path / "docs").counts == FileCounts(new=2, failed=1)
    assert library.list_failures() == [("docs/letter.eml/%", "doctags", "input")]
    outcome = library.run(tmp_path / "docs")
    assert outcome.counts == FileCounts(unchanged=2, failed=1)
    assert (outcome.steps, opened) == ({}, ["letter.eml"])


def test_an_encrypted_member_fails_until_its_password_is_known(tmp_path: Path, library: Library) -> None:
    docs, passwords = tmp_path / "docs", tmp_path / "passwords"
    write(docs, **{"box.zip": ENCRYPTED})
    passwords.write_text("open sesame\n")
    assert library.run(docs).counts == FileCounts(failed=1)
    assert library.list_failures() == [("docs/box.zip/a.txt", "doctags", "input")]
    assert library.run(docs).steps == {}
    known = Library(library.data, password_file=str(passwords))
    assert known.run(docs).counts == FileCounts(changed=1)
    assert library.list_failures() == []


@pytest.mark.req("ROB-1")
def test_a_member_that_cannot_be_read_fails_once(docs: Path, library: Library, opened: list[str]) -> None:
    deep = make_zip({"a.md": ASH})
    for _ in range(4):
        deep = make_zip({"in.zip": deep})
    write(docs, **{"deep.zip": deep})
    assert library.run(docs).counts.failed == 1
    outcome = library.run(docs)
    assert (outcome.counts.failed, outcome.steps) == (1, {})
    assert sorted(opened) == ["box.zip", "deep.zip"]


def test_an_unreadable_folder_keeps_the_members_of_its_archives(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(docs, **{"inner/notes.zip": make_zip({"elm.md": b"# Elm\n"})})
    library.run(docs)
    searchable = library.list_searchable()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).rstrip("/").endswith("/inner"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(unchanged=6, not_read=2, failed=1)
    assert library.list_searchable() == searchable


def test_archives_and_mail_lie_within_each_other(tmp_path: Path, library: Library) -> None:
    inner = make_mail({"notes.zip": make_zip({"deep.md": ASH})})
    write(tmp_path / "docs", **{"box.zip": make_zip({"inbox.eml": inner, "inbox.eml.md": BIRCH})})
    library.run(tmp_path / "docs")
    found = ["inbox.eml", "inbox.eml.md", "inbox.eml/notes.zip/deep.md"]
    assert library.list_searchable() == [f"docs/box.zip/{name}" for name in found]
    assert library.run(tmp_path / "docs").counts == FileCounts(unchanged=3)


@pytest.mark.slow
def test_the_attachments_of_a_mail_that_is_a_copy_are_copies(
    tmp_path: Path, library: Library, opened: list[str]
) -> None:
    docs, mail = tmp_path / "docs", make_mail({"a.md": ASH, "b.md": BIRCH})
    write(docs, **{"one.eml": mail, "two.eml": mail})
    assert library.run(docs).counts == FileCounts(new=3, copies=3)
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(unchanged=3, copies=3)
    assert (outcome.steps, opened) == ({}, ["one.eml", "two.eml"])
    (docs / "one.eml").unlink()
    assert library.run(docs).counts.removed == 3
    assert library.list_searchable() == ["docs/two.eml", "docs/two.eml/a.md", "docs/two.eml/b.md"]
    assert library.read_content_hash() == rebuild(tmp_path, docs)


def test_a_document_that_becomes_an_archive_leaves_its_copies_a_document(tmp_path: Path, library: Library) -> None:
    docs, letter = tmp_path / "docs", make_docx("<w:p><w:r><w:t>Ash</w:t></w:r></w:p>")
    write(docs, **{"box.zip": letter, "copy.docx": letter})
    assert library.run(docs).counts == FileCounts(new=1, copies=1)
    write(docs, **{"box.zip": make_zip({"ash.md": ASH})})
    library.run(docs)
    assert library.list_searchable() == ["docs/box.zip/ash.md", "docs/copy.docx"]
    assert library.read_content_hash() == rebuild(tmp_path, docs)
    assert library.run(docs).steps == {}
