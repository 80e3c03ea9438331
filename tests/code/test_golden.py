"""What is found in a small file of each language."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inorder.code.grammars import LANGUAGES as PARSED_LANGUAGES
from inorder.code.parse import parse
from tests.code.goldens import LANGUAGES, describe_golden, expected_of, source_of
from tests.code.partition import check_partition

pytestmark = pytest.mark.req("IDX-1")


def test_every_language_that_is_parsed_has_a_golden_file() -> None:
    assert tuple(LANGUAGES) == PARSED_LANGUAGES


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_chunks_symbols_imports_and_calls_are_as_expected(language: str) -> None:
    assert describe_golden(language) == expected_of(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lines_of_a_golden_file_are_shared_out(language: str) -> None:
    path = source_of(language)
    parsed = parse(path.name, path.read_bytes())
    assert parsed.language == language
    check_partition(path.read_bytes(), parsed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_line_endings_change_no_name_and_no_line(language: str) -> None:
    path = source_of(language)
    data = path.read_bytes()
    plain = parse(path.name, data)
    windows = parse(path.name, data.replace(b"\n", b"\r\n"))
    assert [(each.qualified_name, each.kind, each.start_line) for each in windows.symbols] == [
        (each.qualified_name, each.kind, each.start_line) for each in plain.symbols
    ]
    assert [(each.start_line, each.name) for each in windows.chunks] == [
        (each.start_line, each.name) for each in plain.chunks
    ]


@pytest.mark.process
def test_answers_do_not_depend_on_the_hash_seed() -> None:
    program = "from tests.code.goldens import *; print(*map(describe_golden, LANGUAGES))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert outputs.pop().decode() == " ".join(map(expected_of, LANGUAGES)) + "\n"
