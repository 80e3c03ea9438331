"""Encrypted PDFs and office files, and the file with their passwords."""

import contextlib
import io
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

from inorder.documents.readers.office import decryption
from inorder.documents.readers.passwords import read_passwords
from inorder.documents.readers.registry import load_reader
from inorder.errors import OperatorError, ReadError
from inorder.pipeline.outcome import FileCounts
from tests.documents.document_text import words
from tests.documents.docx_files import make_docx
from tests.documents.formats.office_files import line, make_pptx, make_xlsx, shape
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    runs = StageRuns(tmp_path)
    (runs.docs / "sealed.pdf").write_bytes(draw_pdf(draw_lines("the sealed letter"), encrypt="l\u00e4mpchen"))
    return runs


def fail(runs: StageRuns, password_file: str) -> str:
    assert runs.doctags(password_file=password_file).counts.failed == 1
    return runs.reasons()["docs/sealed.pdf"]


@pytest.mark.slow
def test_a_pdf_fails_until_its_password_is_in_the_file(runs: StageRuns) -> None:
    assert fail(runs, "none") == "the PDF is encrypted with a password"
    passwords = runs.write("passwords.txt", "wrong\n")
    assert fail(runs, str(passwords)) == "the PDF is encrypted with a password; none in the password file opens it"
    passwords.write_text("wrong\n\nl\u00e4mpchen\n", encoding="utf-8")
    assert runs.doctags(password_file=str(passwords)).counts == FileCounts(changed=1)


def test_a_password_file_that_cannot_be_read_is_refused_before_the_run(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    with pytest.raises(OperatorError, match=r"the password file .* cannot be read: No such file or directory"):
        runs.doctags(password_file=str(tmp_path / "missing.txt"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OperatorError, match="it is not UTF-8"):
        runs.doctags(password_file=str(tmp_path / "binary"))


# ---- office files

CONTENT_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
PASSWORD = "l\u00e4mpchen"
PLAIN = {
    "docx": make_docx("<w:p><w:r><w:t>the sealed letter</w:t></w:r></w:p>"),
    "pptx": make_pptx(shape(line("the sealed letter"))),
    "xlsx": make_xlsx(("Log", '<row r="1"><c r="A1" t="inlineStr"><is><t>the sealed letter</t></is></c></row>')),
}


def encrypt(data: bytes, password: str = PASSWORD) -> bytes:
    archived = io.BytesIO(data)
    with zipfile.ZipFile(archived, "a") as archive:
        if "[Content_Types].xml" not in archive.namelist():
            archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        archive.writestr("unused", Random(0).randbytes(6000))  # msoffcrypto-tool cannot write small files
    sealed = io.BytesIO()
    OOXMLFile(archived).encrypt(password, sealed)
    return sealed.getvalue()


@pytest.fixture(scope="module")
def sealed() -> dict[str, bytes]:
    return {kind: encrypt(data) for kind, data in PLAIN.items()}


def write_passwords(folder: Path, *passwords: str) -> str:
    (folder / "passwords.txt").write_text("".join(f"{each}\n" for each in passwords), encoding="utf-8")
    return str(folder / "passwords.txt")


def refuse(kind: str, data: bytes, password_file: str) -> str:
    with pytest.raises(ReadError) as caught:
        load_reader(kind)(data, "sealed", read_passwords(password_file))
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_an_office_file_is_read_with_one_of_the_passwords(kind: str, sealed: dict[str, bytes], tmp_path: Path) -> None:
    passwords = read_passwords(write_passwords(tmp_path, "wrong", PASSWORD))
    found = load_reader(kind)(sealed[kind], "sealed", passwords)
    assert words(found) == words(load_reader(kind)(PLAIN[kind], "sealed"))
    assert words(found)[-3:] == ["the", "sealed", "letter"]


@pytest.mark.slow
def test_an_office_file_fails_until_its_password_is_in_the_file(sealed: dict[str, bytes], tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    (runs.docs / "sealed.docx").write_bytes(sealed["docx"])
    assert runs.doctags(password_file=write_passwords(tmp_path, "wrong")).counts.failed == 1
    unknown = "the file is encrypted with a password; none in the password file opens it"
    assert runs.reasons() == {"docs/sealed.docx": unknown}
    assert runs.doctags(password_file=write_passwords(tmp_path, PASSWORD)).counts == FileCounts(changed=1)
    written = b"".join(path.read_bytes() for path in runs.data.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in written


@pytest.mark.slow
def test_without_passwords_or_the_extra_the_reason_says_what_is_missing(
    sealed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = "the file is encrypted with a password, or is a Word file from before 2007"
    assert refuse("docx", sealed["docx"], "none") == unknown
    for name in ("msoffcrypto", "msoffcrypto.exceptions", "msoffcrypto.format", "msoffcrypto.format.ooxml"):
        monkeypatch.setitem(sys.modules, name, None)
    reason = refuse("docx", sealed["docx"], write_passwords(tmp_path, PASSWORD))
    assert reason.endswith("needs the package msoffcrypto-tool: pip install 'inorder[passwords]'")


@pytest.mark.slow
@pytest.mark.req("ROB-1")
def test_a_damaged_encrypted_file_is_refused_or_read_whatever_is_damaged(sealed: dict[str, bytes]) -> None:
    data = sealed["docx"]
    for at in range(0, len(data), len(data) // 4):
        for damaged in (data[: at + 8], data[:at] + bytes(16) + data[at + 16 :]):
            with contextlib.suppress(ReadError):
                load_reader("docx")(damaged, "damaged", [PASSWORD])


def test_an_office_file_from_before_2007_is_named_as_such(tmp_path: Path) -> None:
    old = decryption.OLE + bytes(2000)
    assert "encrypted" in refuse("docx", old, write_passwords(tmp_path, PASSWORD))


@pytest.mark.slow
@pytest.mark.req("ROB-1")
def test_encryption_that_demands_too_many_rounds_is_refused(
    sealed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decryption, "ROUNDS_MAX", 1000)
    reason = refuse("docx", sealed["docx"], write_passwords(tmp_path, PASSWORD))
    assert reason == "the encryption of the file demands 100,000 rounds; the limit is 1,000"
