"""Encrypted office files: read with their password as the plain ones, refused with the reason otherwise."""

import contextlib
import sys
from pathlib import Path

import pytest

from inorder.documents.doctags.tags import write_doctags
from inorder.documents.readers.passwords import read_passwords
from inorder.documents.readers.registry import load_reader
from inorder.errors import ReadError
from inorder.pipeline.outcome import FileCounts
from tests.documents.docling_reference import assert_docling_agrees
from tests.documents.doctags.test_passwords import PASSWORD, encrypt, write_passwords
from tests.documents.formats.odf_encryption_files import METHODS, Method, encrypt_odf
from tests.documents.formats.samples import SAMPLES, VARIANTS
from tests.documents.formats.test_formats_hostile import replace_part
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")

GOLDEN = Path(__file__).parent / "golden"
ODF = SAMPLES["opendocument"]


def assert_reads_as_golden(name: str, sealed: bytes, folder: Path) -> None:
    passwords = read_passwords(write_passwords(folder, "wrong", PASSWORD))
    document = load_reader(VARIANTS[name][0])(sealed, "name", passwords)
    assert (GOLDEN / f"{name}.golden").read_text(encoding="utf-8").startswith(f"{write_doctags(document)}\n")
    assert_docling_agrees(document)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pptx", "xlsx"])
def test_an_encrypted_office_file_reads_as_the_plain_one(name: str, tmp_path: Path) -> None:
    assert_reads_as_golden(name, encrypt(VARIANTS[name][1]), tmp_path)


@pytest.mark.parametrize("name", ["opendocument", "ods", "odp"])
@pytest.mark.parametrize("method", METHODS)
def test_an_encrypted_opendocument_file_reads_as_the_plain_one(name: str, method: Method, tmp_path: Path) -> None:
    sealed = encrypt_odf(VARIANTS[name][1], PASSWORD, method)
    assert_reads_as_golden(name, sealed, tmp_path)


def refuse(data: bytes, password_file: str) -> str:
    with pytest.raises(ReadError) as caught:
        load_reader("opendocument")(data, "sealed", read_passwords(password_file))
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_without_the_password_the_reason_says_so(
    method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = encrypt_odf(ODF, PASSWORD, method)
    assert refuse(sealed, "none") == "the file is encrypted with a password"
    unknown = "the file is encrypted with a password; none in the password file opens it"
    assert refuse(sealed, write_passwords(tmp_path, "wrong", "false")) == unknown
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    reason = refuse(sealed, write_passwords(tmp_path, PASSWORD))
    assert reason.endswith("needs the package cryptography: pip install 'inorder[passwords]'")


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_encrypted_opendocument_file_is_refused_or_read(method: Method) -> None:
    sealed = encrypt_odf(ODF, PASSWORD, method)
    for at in range(0, len(sealed), len(sealed) // 40):
        for damaged in (sealed[:at], sealed[:at] + bytes(4) + sealed[at + 4 :]):
            with contextlib.suppress(ReadError):
                load_reader("opendocument")(damaged, "damaged", [PASSWORD])


@pytest.mark.req("ROB-1")
def test_encryption_that_demands_too_much_is_refused(tmp_path: Path) -> None:
    passwords = write_passwords(tmp_path, PASSWORD)
    sealed = encrypt_odf(ODF, PASSWORD, "aes")
    manifest = (
        b'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="%s">'
    )
    manifest += b"<m:encryption-data/><m:key-derivation %s/></m:file-entry></m:manifest>"
    slow = replace_part(sealed, "META-INF/manifest.xml", manifest % (b"content.xml", b'm:iteration-count="2000000"'))
    assert refuse(slow, passwords) == "the encryption of the file demands 2,000,000 rounds; the limit is 1,000,000"
    large = encrypt_odf(ODF, PASSWORD, "package", memory=2**24)
    assert refuse(large, passwords) == "the encryption of the file demands 16,777,216 KiB; the limit is 1,048,576"
    other = replace_part(sealed, "META-INF/manifest.xml", manifest % (b"content.xml", b""))
    assert refuse(other, passwords).endswith("an unknown algorithm, which is not supported")
    nothing = replace_part(sealed, "META-INF/manifest.xml", manifest % (b"pictures/1.png", b""))
    assert refuse(nothing, passwords) == "the file is encrypted in an unknown way"


@pytest.mark.req("ROB-1")
def test_an_encrypted_part_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.documents.readers.office.package.PART_BYTES_MAX", 100)
    reason = refuse(encrypt_odf(ODF, PASSWORD, "aes"), write_passwords(tmp_path, PASSWORD))
    assert "too many bytes (a zip bomb?)" in reason or "the limit is 100" in reason


@pytest.mark.slow
def test_a_run_reads_it_once_its_password_is_in_the_file(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    (runs.docs / "sealed.odt").write_bytes(encrypt_odf(ODF, PASSWORD, "aes"))
    assert runs.doctags(password_file=write_passwords(tmp_path, "wrong")).counts.failed == 1
    assert runs.doctags(password_file=write_passwords(tmp_path, PASSWORD)).counts == FileCounts(changed=1)
    written = b"".join(path.read_bytes() for path in runs.data.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in written
