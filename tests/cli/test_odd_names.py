"""Names of files with line breaks, control characters and bytes that are not valid Unicode, at the terminal."""

import os

import pytest

from tests.support.command_line import CommandLine

NAMES = {b"bad\xff.md": "not Unicode", b"two\nlines.md": "two lines", b"red\x1b[31m.md": "red \x1b[31m lamp"}


@pytest.fixture
def odd(cli: CommandLine) -> CommandLine:
    folder = os.fsencode(cli.folder / "docs")
    os.mkdir(folder)
    for name, text in NAMES.items():
        with open(folder + b"/" + name, "w") as file:
            file.write(f"# Lamp\n\nA lamp: {text}\n")
    for name in (b"torn\n1.pdf", b"torn\xff2.pdf"):
        with open(folder + b"/" + name, "wb") as torn:
            torn.write(b"%PDF-1.4 " + name)
    return cli


@pytest.mark.slow
@pytest.mark.req("CLI-1")
def test_every_name_is_one_line_without_control_characters(odd: CommandLine) -> None:
    ended = odd.run_in_process("run", "docs", "--policy", "io", "--workers", "1")
    assert ended.code == 3
    failed = odd.run_in_process("failures")
    assert [line for line in failed.out.splitlines() if not line.startswith(" ")] == [
        "docs/torn%0A1.pdf",
        "docs/torn%FF2.pdf",
    ]
    found = odd.run_in_process("search", "lamp")
    assert found.err == ""
    shown = {line.partition("  ")[0] for line in found.out.splitlines() if not line.startswith(" ")}
    assert shown == {f"docs/{name}:1" for name in ("bad\\udcff.md", "two\\nlines.md", "red\\x1b[31m.md")}
    (odd.folder / "docs" / "two\nlines.md").unlink()
    os.unlink(os.fsencode(odd.folder / "docs") + b"/bad\xff.md")
    warned = odd.run_in_process("search", "lamp").err
    assert "docs/bad\\udcff.md" in warned
    assert "docs/two\\nlines.md" in warned
    assert "were removed since the index was made" in warned
    for text in (ended.err, failed.out, failed.err, found.out, warned):
        assert "\x1b" not in text
        assert "" not in text.split("\n")[:-1]
