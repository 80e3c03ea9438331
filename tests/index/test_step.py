"""The step `index` as a function: from chunks, or from source code, to rows."""

import subprocess
import sys
from pathlib import Path

import pytest

from inorder.code import grammars
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.chunk.step import chunk
from inorder.documents.chunk.tokens import count_words
from inorder.documents.convert.kinds import find_kind
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.convert.step import convert
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.step import embed
from inorder.index.rows import CODE, DOCUMENT, count_terms, hash_rows
from inorder.index.step import WITHOUT_GRAMMAR, make_code_rows, make_document_rows, settings_of

pytestmark = pytest.mark.req("IDX-1")

NOTE = b"# Log\n\nThe lamp was lit at dusk.\n\n## Stores\n\nTwelve litres of oil are left.\n"
PYTHON = b"import os\n\n\ndef light(lamp):\n    return os.getcwd(lamp)\n"


def test_a_note_goes_through_all_steps_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = ConvertSettings()
    converted = convert(NOTE, "docs/log.md", find_kind("docs/log.md", NOTE, settings), settings, Resources())
    chunks = chunk("docs/log.md", converted.document, ChunkSettings(), count_words)
    rows = make_document_rows("docs/log.md", chunks)
    vectors = embed("dense", [each.text for each in chunks], open_dense("hash:32"))
    assert [row.chunk_id for row in rows.chunks] == [each.chunk_id for each in chunks]
    assert len(vectors) == len(chunks) == 1
    assert rows.chunks[0].context == "Log > docs log md"
    assert rows.language == "en"
    assert {"lamp", "oil", "log"} <= set(count_terms(rows).vocabulary.split())


def test_the_same_chunks_give_the_same_rows_and_the_chunks_stay_as_they_are() -> None:
    converted = convert(NOTE, "log.md", "markdown", ConvertSettings(), Resources())
    chunks = chunk("log.md", converted.document, ChunkSettings(tokens_max=8), count_words)
    first = make_document_rows("log.md", chunks)
    assert first == make_document_rows("log.md", chunks)
    assert (first.kind, first.lines) == (DOCUMENT, 0)


def test_source_code_has_symbols_imports_and_calls() -> None:
    rows = make_code_rows("src/lamp.py", "/elsewhere/lamp.py", PYTHON)
    assert (rows.kind, rows.language, rows.note) == (CODE, "python", "")
    assert [each.qualified for each in rows.symbols] == ["light"]
    assert [each.module for each in rows.imports] == ["os"]
    assert [each.callee for each in rows.calls] == ["getcwd"]


def test_without_its_grammar_a_file_is_split_by_lines_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.code.parse.load_grammar", lambda language: pytest.fail("a grammar was loaded"))
    rows = make_code_rows("src/lamp.py", "/src/lamp.py", PYTHON, uses_grammar=False)
    assert (rows.language, rows.note, rows.symbols, rows.calls) == ("python", WITHOUT_GRAMMAR, [], [])
    assert "".join(each.text for each in rows.chunks) == PYTHON.decode()


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"def (:\n" * 3, b"\0" * 9])
def test_any_content_has_rows(data: bytes) -> None:
    rows = make_code_rows("a.py", "a.py", data)
    assert rows.item_id == "a.py"
    assert hash_rows(rows)


def test_settings_are_stated_by_part_and_a_grammar_concerns_its_language_and_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = settings_of(DOCUMENT)
    assert before == {"kind": "document", "analysis": "2", "grammars": before["grammars"]}
    monkeypatch.setattr(grammars, "grammar_version", lambda language: f"{language} 7")
    assert settings_of(DOCUMENT)["grammars"] != before["grammars"]
    assert settings_of(CODE, "python") == {"kind": "code", "analysis": "2", "grammar": "python 7"}


@pytest.mark.process
def test_steps_load_no_stage_store_or_plan() -> None:
    program = (
        "import sys, inorder\n"
        "known = set(sys.modules)\n"
        "import inorder.documents.convert.step, inorder.documents.convert.parts, inorder.documents.convert.kinds\n"
        "import inorder.documents.chunk.step, inorder.documents.chunk.model_pieces, inorder.documents.chunk.settings\n"
        "import inorder.index.step, inorder.index.rows, inorder.code.parse\n"
        "runner = ('inorder.stage', 'inorder.runtime', 'inorder.sinks', 'inorder.engines')\n"
        "print([name for name in sys.modules if name not in known and name.startswith(runner)])\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout == "[]\n"
