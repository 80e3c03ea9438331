"""What the outputs of the document stages depend on: whatever changes them makes them again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.code import grammars
from inorder.documents.chunk.stage import ChunkSettings
from inorder.documents.chunk.stage import make as make_chunk
from inorder.documents.embed.corpus import CORPUS, decode_state
from inorder.documents.embed.stage import EmbedSettings
from inorder.documents.embed.stage import make as make_embed
from inorder.index import stage as index_stage
from inorder.index.connection import open_index
from inorder.stage.store.database import open_store
from tests.dataset.chunk_store import StageStore
from tests.index.documents import add_document, remove_chunks

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


def items_of(stage: inorder.Stage, data: Path) -> list[inorder.WorkItem]:
    return [item for item in stage.plan([], data).items if isinstance(item, inorder.WorkItem)]


def run(stage: inorder.Stage, data: Path, *sources: Path) -> inorder.StageOutcome:
    """Run a stage in this process."""
    options = inorder.StageOptions(data=data, policy="io", workers=1, progress="none", telemetry=False, fsync="off")
    finish = stage.finish
    outcome = inorder.run_stage(
        stage.plan([*sources], data),
        stage.worker,
        options,
        stage.hooks,
        sinks=[] if stage.sinks is None else stage.sinks(data),
        finish=None if finish is None else lambda: finish(data),
    )
    assert outcome.failed == 0
    return outcome


# ---- chunks


def chunk_configuration(data: Path, **settings: Any) -> str:
    StageStore(data, "doctags", folder="documents").put_content("a", b"")
    [item] = items_of(make_chunk(ChunkSettings(**settings)), data)
    return item.cfg_hash


@pytest.mark.req("RUN-4")
@pytest.mark.parametrize("change", [{"tokens_min": 7}, {"tokens_max": 500, "tokens_min": 256}, {"tokens_max": 600}])
def test_every_setting_of_chunks_is_part_of_their_configuration(tmp_path: Path, change: dict[str, Any]) -> None:
    assert chunk_configuration(tmp_path, **change) != chunk_configuration(tmp_path)


def test_a_default_that_is_written_out_is_the_same_configuration(tmp_path: Path) -> None:
    assert chunk_configuration(tmp_path, tokens_min=256, tokens_max=512) == chunk_configuration(tmp_path)


@pytest.mark.req("RUN-4")
def test_the_bytes_of_a_tokenizer_file_are_part_of_the_configuration_and_its_path_is_not(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    one, moved = tmp_path / "one.json", tmp_path / "moved.json"
    one.write_text(json.dumps(TOKENIZER))
    moved.write_text(json.dumps(TOKENIZER))
    before = chunk_configuration(tmp_path, tokenizer=f"hf:{one}")
    assert chunk_configuration(tmp_path, tokenizer=f"hf:{moved}") == before
    one.write_text(json.dumps(TOKENIZER, indent=1))
    assert chunk_configuration(tmp_path, tokenizer=f"hf:{one}") != before
    assert chunk_configuration(tmp_path) != before


# ---- vectors


def vector_configurations(data: Path, dense: str) -> dict[str, str]:
    add_document(data, "a", "the lamp")
    items = items_of(make_embed(EmbedSettings(dense=dense)), data)
    return {item.meta["family"]: item.cfg_hash for item in items if item.item_id.endswith("/a")}


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
def test_another_model_is_another_configuration_of_dense_vectors(
    tmp_path: Path, before: Callable[[Path], str], after: Callable[[Path], str]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"model")
    old = vector_configurations(tmp_path, before(folder))
    new = vector_configurations(tmp_path, after(folder))
    assert old["dense"] != new["dense"]


@pytest.mark.req("RUN-4")
def test_the_totals_of_the_corpus_follow_every_change_and_leave_out_what_is_gone(tmp_path: Path) -> None:
    """The first run after a removal still finds the vectors of what is gone: they are removed after the totals."""
    stage = make_embed(EmbedSettings(dense="hash"))
    identities = set()

    def count() -> tuple[int, int]:
        store = open_store(str(tmp_path), "embed")
        found = None if store is None else store.read(CORPUS)
        assert found is not None
        state = decode_state(found[1])
        identities.add(state.identity)
        return state.families["dense"].documents, len(identities)

    add_document(tmp_path, "a", "lamp lamp")
    add_document(tmp_path, "b", "horn")
    run(stage, tmp_path)
    assert count() == (2, 1)
    add_document(tmp_path, "a", "wick")
    run(stage, tmp_path)
    assert count() == (2, 2)
    remove_chunks(tmp_path, "b")
    run(stage, tmp_path)
    assert count() == (1, 3)
    assert run(stage, tmp_path).succeeded == 0


@pytest.mark.req("RUN-4")
def test_totals_made_while_old_vectors_were_there_are_not_made_again_when_they_are_gone(tmp_path: Path) -> None:
    stage = make_embed(EmbedSettings(dense="hash"))
    add_document(tmp_path, "a", "lamp")
    add_document(tmp_path, "b", "horn")
    run(stage, tmp_path)
    remove_chunks(tmp_path, "b")
    [before] = [item.cfg_hash for item in items_of(stage, tmp_path) if item.item_id == "__corpus__"]
    run(stage, tmp_path)
    [after] = [item.cfg_hash for item in items_of(stage, tmp_path) if item.item_id == "__corpus__"]
    assert before == after


# ---- the index


def index(data: Path, *sources: Path) -> inorder.StageOutcome:
    open_index.cache_clear()
    try:
        return run(index_stage.stage, data, *sources)
    finally:
        open_index.cache_clear()


@pytest.mark.req("IDX-3", "RUN-4")
def test_other_vectors_redo_a_document_of_the_index(tmp_path: Path) -> None:
    add_document(tmp_path, "a", "the lamp")
    add_document(tmp_path, "b", "the horn")
    assert index(tmp_path).succeeded == 2
    assert index(tmp_path).skipped == 2
    [matrix] = tmp_path.glob("index.vectors.*")
    add_document(tmp_path, "a", "the lamp", provider="hash:32")
    add_document(tmp_path, "b", "the horn", provider="hash:32")
    assert index(tmp_path).succeeded == 2
    [new] = tmp_path.glob("index.vectors.*")
    assert new.name != matrix.name
    assert new.stat().st_size == 2 * 32 * 4


@pytest.mark.req("IDX-3", "RUN-4")
def test_another_grammar_redoes_the_files_of_its_language_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, data = tmp_path / "source", tmp_path / "data"
    source.mkdir()
    (source / "a.py").write_text("def lamp(): pass\n")
    (source / "b.js").write_text("function horn() {}\n")
    assert index(data, source).succeeded == 2
    known = grammars.grammar_version
    monkeypatch.setattr(
        grammars, "grammar_version", lambda language: f"{known(language)}{' newer' * (language == 'python')}"
    )
    assert index(data, source).succeeded == 1
    rows = [json.loads(line) for line in (data / "manifests" / "index.jsonl").read_text().splitlines()]
    assert [row["doc_id"] for row in rows if row["status"] == "success"][2:] == ["source/a.py"]
