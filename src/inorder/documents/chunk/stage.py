"""The stage `chunk`: every document in DATA becomes chunks that follow its structure and fit a model."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from inorder.documents.cost import count_blocks
from inorder.documents.edits import edit_documents
from inorder.documents.layout import (
    CHUNK_RESULTS,
    DOCUMENT_RESULTS,
    DOCUMENTS,
    Result,
    StoredResults,
    bind_count_stored,
    estimate_count,
    list_documents,
)
from inorder.runtime.identity import hash_settings
from inorder.stage.contracts import (
    Configurable,
    Derivation,
    LastRun,
    MakeItems,
    PlanEdits,
    Stage,
    StagePlan,
    WorkItem,
)
from inorder.stage.options import StageOptions
from inorder.stage.store.inputs import StoredInput

from .settings import NAME, VERSION, ChunkSettings, settings_of
from .tokens import load_counter
from .worker import FOLLOW_IMPORTS, work

_TIMEOUT_S = 300.0
"""As long as a document may take to be read; chunking it takes a fraction of that."""


def make(settings: ChunkSettings) -> Stage:
    """The stage with these settings."""
    _hash_configuration(settings)  # requires a tokenizer that can be read
    return Stage(
        name=NAME,
        plan=partial(plan, settings),
        worker=work,
        follow=partial(_follow, settings),
        follow_imports=FOLLOW_IMPORTS,
        options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S),
    )


stage = Configurable(settings=ChunkSettings, make=make)


def _hash_configuration(settings: ChunkSettings) -> str:
    """A hash of everything that chunks depend on, except the documents."""
    load_counter(settings.tokenizer)
    return hash_settings(NAME, VERSION, settings_of(settings))


def plan(settings: ChunkSettings, sources: list[Path], data: Path) -> StagePlan:
    """Plan every document that `doctags` has converted. The chunks of other documents are removed."""
    items = ChunkItems(settings, data)
    return StagePlan(
        NAME,
        items,
        retires=lambda *_: True,
        expected_items=estimate_count(data, DOCUMENT_RESULTS),
        is_stored=True,
        derived_from=Derivation(stages=("doctags",), version=items.cfg_hash, find_edits=items.find_edits),
    )


def _follow(settings: ChunkSettings, data: Path) -> MakeItems:
    return ChunkItems(settings, data).follow


class ChunkItems:
    """The items of a plan. Can be iterated repeatedly."""

    def __init__(self, settings: ChunkSettings, data: Path) -> None:
        self.cfg_hash = _hash_configuration(settings)
        self._data = data
        self._meta = {
            "tokenizer": settings.tokenizer,
            "tokens_min": settings.resolved_tokens_min,
            "tokens_max": settings.tokens_max,
        }

    def __iter__(self) -> Iterator[WorkItem]:
        return (self._make_item(document) for document in list_documents(self._data))

    def find_edits(self, last: LastRun) -> PlanEdits | None:
        """The documents that were converted again, or removed, since the last run."""
        ids = last.changed[DOCUMENT_RESULTS.stage]
        documents = StoredResults(self._data, DOCUMENT_RESULTS, ids)
        count_ids = bind_count_stored(self._data, CHUNK_RESULTS)
        return edit_documents(
            last, ids, documents.doc_ids, lambda doc_id: [self._make_item(documents[doc_id])], count_ids=count_ids
        )

    def follow(self, doc_id: str, results: Mapping[str, StoredInput]) -> list[WorkItem]:
        """The item of a document that was just converted; none for a part of one."""
        document = results.get(DOCUMENTS)
        return [] if document is None else [self._make_item(Result(doc_id, document, document.size))]

    def _make_item(self, document: Result) -> WorkItem:
        doc_id = document.doc_id
        return WorkItem(
            item_id=doc_id,
            inputs={"record": document.source},
            outputs={"chunks": f"{NAME}/{doc_id}"},
            cfg_hash=self.cfg_hash,
            cost_hint=count_blocks(document),
            meta=self._meta,
        )
