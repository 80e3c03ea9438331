"""What the results of steps depend on: whatever changes them makes them again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inorder.code import grammars
from inorder.documents.chunk.settings import ChunkSettings
from inorder.pipeline.outcome import FileCounts
from inorder.pipeline.sources.classify import DOCUMENT, FileKind
from inorder.pipeline.steps import PipelineSettings, StepTable
from tests.documents.stage_runs import StageRuns

TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
}


def hash_settings(step: str, settings: PipelineSettings) -> str:
    """The hash of the settings of a step for a document."""
    steps = StepTable(settings).list_steps(FileKind(DOCUMENT, "markdown"))
    return next(each.settings for each in steps if each.name == step)


# ---- chunks


def hash_chunk_settings(**settings: Any) -> str:
    return hash_settings("chunk", PipelineSettings(chunk=ChunkSettings(**settings)))


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize("change", [{"tokens_min": 7}, {"tokens_max": 500, "tokens_min": 256}, {"tokens_max": 600}])
def test_chunks_depend_on_every_setting_of_the_step(change: dict[str, Any]) -> None:
    assert hash_chunk_settings(**change) != hash_chunk_settings()


def test_a_default_that_is_written_out_is_the_same_setting() -> None:
    assert hash_chunk_settings(tokens_min=256, tokens_max=512) == hash_chunk_settings()


@pytest.mark.req("RUN-4")
def test_chunks_depend_on_the_bytes_of_a_tokenizer_file_and_not_on_its_path(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    one, moved = tmp_path / "one.json", tmp_path / "moved.json"
    one.write_text(json.dumps(TOKENIZER))
    moved.write_text(json.dumps(TOKENIZER))
    before = hash_chunk_settings(tokenizer=f"hf:{one}")
    assert hash_chunk_settings(tokenizer=f"hf:{moved}") == before
    one.write_text(json.dumps(TOKENIZER, indent=1))
    assert hash_chunk_settings(tokenizer=f"hf:{one}") != before
    assert hash_chunk_settings() != before


# ---- vectors


def other_folder(folder: Path) -> str:
    (folder / "model.onnx").write_bytes(b"other")
    return f"onnx:{folder}"


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda folder: "hash:64", lambda folder: "hash:128"),
        (lambda folder: "openai:http://localhost:1/v1#a", lambda folder: "openai:http://localhost:1/v1#b"),
        (lambda folder: "tei:http://localhost:1", lambda folder: "tei:http://localhost:2"),
        (lambda folder: f"onnx:{folder}", other_folder),
    ],
    ids=["dimensions", "model of a server", "address of a server", "content of a folder"],
)
def test_dense_vectors_depend_on_the_model(
    tmp_path: Path, before: Callable[[Path], str], after: Callable[[Path], str]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"model")
    old = hash_settings("embed:dense", PipelineSettings(dense=before(folder)))
    assert hash_settings("embed:dense", PipelineSettings(dense=after(folder))) != old


@pytest.mark.slow
@pytest.mark.req("IDX-3", "RUN-4")
def test_other_vectors_take_the_place_of_those_that_are_searched(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    runs.write("docs/a.md", "the lamp")
    runs.write("docs/b.md", "the horn")
    runs.run(dense="hash:16")
    [before] = runs.data.glob("library.vectors.*")
    assert runs.run(dense="hash:32").counts == FileCounts(changed=2)
    [after] = runs.data.glob("library.vectors.*")
    assert after.name != before.name
    assert after.stat().st_size == 2 * 32 * 4


# ---- source code


@pytest.mark.slow
@pytest.mark.req("IDX-3", "RUN-4")
def test_another_grammar_redoes_the_files_of_its_language_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = StageRuns(tmp_path)
    runs.write("code/a.py", "def lamp(): pass\n")
    runs.write("code/b.js", "function horn() {}\n")
    assert runs.index("code").counts == FileCounts(new=2)
    known = grammars.grammar_version
    monkeypatch.setattr(
        grammars, "grammar_version", lambda language: f"{known(language)}{' newer' * (language == 'python')}"
    )
    runs.index("code")
    assert runs.done("index") == {"code/a.py"}
