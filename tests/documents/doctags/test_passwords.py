"""Encrypted PDFs and the file with their passwords."""

from pathlib import Path

import pytest

from inorder.documents.doctags.stage import DoctagsSettings, make
from inorder.errors import OperatorError
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    runs = StageRuns(tmp_path)
    (runs.docs / "sealed.pdf").write_bytes(draw_pdf(draw_lines("the sealed letter"), encrypt="l\u00e4mpchen"))
    return runs


def fail(runs: StageRuns, password_file: str) -> str:
    assert runs.doctags(password_file=password_file).failed == 1
    return str(runs.rows("doctags")["docs/sealed.pdf"]["error"]["message"])


def test_a_pdf_fails_until_its_password_is_in_the_file(runs: StageRuns) -> None:
    assert fail(runs, "none") == "the PDF is encrypted with a password"
    passwords = runs.write("passwords.txt", "wrong\n")
    assert fail(runs, str(passwords)) == "the PDF is encrypted with a password; none in the password file opens it"
    passwords.write_text("wrong\n\nl\u00e4mpchen\n", encoding="utf-8")
    assert runs.doctags(password_file=str(passwords)).succeeded == 1


def test_a_password_file_that_cannot_be_read_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"the password file .* cannot be read: No such file or directory"):
        make(DoctagsSettings(password_file=str(tmp_path / "missing.txt")))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OperatorError, match="it is not UTF-8"):
        make(DoctagsSettings(password_file=str(tmp_path / "binary")))
