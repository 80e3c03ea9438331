"""An encrypted file fails, and is tried again when something changes that may help, and only then."""

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.documents.doctags.test_passwords import PASSWORD, PLAIN, encrypt
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("CLI-3", "PIP-6"), pytest.mark.slow]

GIVEN = ("--password-file", "passwords.txt")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An encrypted PDF and an encrypted DOCX."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Lamps\n")
    (tmp_path / "docs" / "letter.pdf").write_bytes(draw_pdf(draw_lines("the sealed letter"), encrypt=PASSWORD))
    (tmp_path / "docs" / "salary.docx").write_bytes(encrypt(PLAIN["docx"]))
    return tmp_path


def call(project: Path, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(arguments, project, clean_environment())


def run(project: Path, *options: str) -> tuple[int, dict[str, Any], list[str]]:
    """Run it, and return the exit code, the outcome, and which files a run would visit before it."""
    _, planned, _ = call(project, "plan", "docs", *options, "--json")
    tried = [each["item_id"] for each in json.loads(planned)["files"] if each["steps"]]
    quick = ("--policy", "io", "--workers", "1", "--set", "fsync=off", "--json")
    code, out, _ = call(project, "run", "docs", *options, *quick)
    found = json.loads(out)
    done = found["steps"].get("doctags", {"files": 0, "failed": 0})
    assert len(tried) == done["files"] + done["failed"]
    return code, found["counts"], tried


def write_passwords(project: Path, *passwords: str) -> None:
    (project / "passwords.txt").write_text("".join(f"{each}\n" for each in passwords), encoding="utf-8")


COUNTS = ("new", "changed", "unchanged", "copies", "failed", "not_read", "removed")
SEALED = ["docs/letter.pdf", "docs/salary.docx"]


def test_without_a_password_it_is_failed_and_the_next_run_leaves_it_alone(project: Path) -> None:
    code, counts, _ = run(project)
    assert (code, counts["new"], counts["failed"], counts["not_read"]) == (3, 1, 2, 0)
    code, counts, tried = run(project)
    assert (code, counts["unchanged"], counts["failed"], tried) == (3, 1, 2, [])


def test_a_password_file_and_other_passwords_in_it_make_it_due(project: Path) -> None:
    run(project)
    write_passwords(project, "wrong")
    assert run(project, *GIVEN)[2] == SEALED
    assert run(project, *GIVEN)[2] == []
    write_passwords(project, "wrong", PASSWORD)
    code, counts, tried = run(project, *GIVEN)
    assert (code, counts["changed"], counts["failed"], tried) == (0, 2, 0, SEALED)
    assert run(project)[::2] == (0, []), "what was read stays, without the passwords"


def test_the_command_that_the_list_of_failures_names_mends_it(project: Path) -> None:
    run(project)
    write_passwords(project, PASSWORD)
    said = call(project, "failures")[2]
    command = said.splitlines()[1].partition("then: inorder ")[2].replace("FILE", "passwords.txt")
    assert call(project, *shlex.split(command), "--policy", "io", "--quiet")[0] == 0
    assert call(project, "failures")[2] == "no failed files\n"


def test_a_password_file_that_was_only_touched_or_ordered_makes_nothing_due(project: Path) -> None:
    write_passwords(project, "wrong", "other")
    run(project, *GIVEN)
    write_passwords(project, "other", "", "wrong")
    os.utime(project / "passwords.txt", (10**9, 10**9))
    assert run(project, *GIVEN)[2] == []


def test_the_file_itself_makes_it_due_when_it_changes(project: Path) -> None:
    run(project)
    (project / "docs" / "letter.pdf").write_bytes(draw_pdf(draw_lines("an open letter")))
    assert run(project)[1:] == ({**dict.fromkeys(COUNTS, 0), "changed": 1, "unchanged": 1, "failed": 1}, SEALED[:1])


def test_the_extra_that_it_needs_makes_it_due_when_it_is_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_passwords(project, PASSWORD)
    (project / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4\nbroken")
    modules = [name for name in sys.modules if name.partition(".")[0] == "msoffcrypto"]
    with monkeypatch.context() as missing:
        for name in {*modules, "msoffcrypto", "msoffcrypto.exceptions", "msoffcrypto.format.ooxml"}:
            missing.setitem(sys.modules, name, None)
        assert importlib.util.find_spec("msoffcrypto") is None
        code, counts, _ = run(project, *GIVEN)
        assert (code, counts["new"], counts["failed"]) == (3, 2, 2)
        assert run(project, *GIVEN)[2] == []
        assert "pip install" in call(project, "failures")[1]
    code, counts, tried = run(project, *GIVEN)
    assert (counts["changed"], counts["failed"], tried) == (1, 1, ["docs/salary.docx"])
    assert "docs/salary.docx" in call(project, "search", "sealed letter", "--json")[1]


def test_the_hint_to_give_a_password_file_is_not_shown_when_one_was_given(project: Path) -> None:
    assert "add --password-file FILE" in call(project, "run", "docs")[2]
    assert "--password-file FILE" in call(project, "failures")[2]
    write_passwords(project, "wrong")
    ended = call(project, "run", "docs", *GIVEN)[2]
    assert "none in the password file opens it" in ended
    assert "--password-file" not in ended + call(project, "failures")[2]


def test_other_passwords_make_only_encrypted_files_due(project: Path) -> None:
    (project / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4\nbroken")
    run(project)
    for password in ("wrong", "other", PASSWORD):
        write_passwords(project, password)
        assert run(project, *GIVEN)[2] == SEALED
    assert run(project, *GIVEN)[2] == []
