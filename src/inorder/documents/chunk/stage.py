"""The stage `chunk`: every document in DATA becomes chunks that follow its structure and fit a model."""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from inorder.documents.cost import count_blocks
from inorder.documents.layout import CHUNK_SUFFIXES, CHUNKS, Layout, list_documents
from inorder.errors import OperatorError, require
from inorder.runtime.identity import hash_strings
from inorder.stage.contracts import Configurable, PredictionRules, Stage, StagePlan, WorkItem
from inorder.stage.options import StageOptions

from .chunks import SCHEMA_VERSION
from .tokens import load_counter
from .worker import list_other_formats, work

NAME = "chunk"
_TIMEOUT_S = 300.0
"""As long as a document may take to be read; chunking it takes a fraction of that."""


class ChunkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How documents are chunked."""

    tokens_min: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """A smaller chunk is joined to a neighbour if both fit together; None: half of `tokens_max`."""
    tokens_max: Annotated[int, msgspec.Meta(ge=1)] = 512
    """The largest chunk."""
    tokenizer: str = "words"
    """`words`, or `hf:PATH` for a tokenizer.json."""
    layout: Layout = "files"
    """Where chunks are kept: in the store of the stage, or in a file per document."""
    format: Literal["parquet", "jsonl"] = "parquet"
    """The format of the files, if the layout is `files`."""

    def __post_init__(self) -> None:
        require(
            self.resolved_tokens_min <= self.tokens_max,
            f"tokens_min must be at most tokens_max, got {self.tokens_min} and {self.tokens_max}",
        )

    @property
    def resolved_tokens_min(self) -> int:
        """`tokens_min`, or its default."""
        return self.tokens_max // 2 if self.tokens_min is None else self.tokens_min


def make(settings: ChunkSettings) -> Stage:
    """The stage with these settings."""
    return Stage(
        name=NAME,
        plan=partial(plan, settings, _hash_configuration(settings)),
        worker=work,
        options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S),
        prediction=PredictionRules(removes=list_other_formats, changes_with=("configuration",)),
    )


stage = Configurable(settings=ChunkSettings, make=make)


def _hash_configuration(settings: ChunkSettings) -> str:
    """A hash of everything that chunks depend on, except the documents."""
    load_counter(settings.tokenizer)
    tokenizer = settings.tokenizer
    kind, _, path = tokenizer.partition(":")
    if kind == "hf":
        try:
            tokenizer = f"hf:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
        except OSError as error:
            raise OperatorError(f"cannot read the tokenizer {path}: {error.strerror or error}") from error
    sizes = f"{settings.resolved_tokens_min} {settings.tokens_max}"
    format_ = settings.format if settings.layout == "files" else settings.layout
    return hash_strings(NAME, str(SCHEMA_VERSION), sizes, tokenizer, format_)


def plan(settings: ChunkSettings, cfg_hash: str, sources: list[Path], data: Path) -> StagePlan:
    """Plan every document that `doctags` has converted. The chunks of other documents are removed."""
    items = ChunkItems(settings, cfg_hash, data)
    return StagePlan(
        NAME,
        items,
        retires=lambda *_: True,
        expected_items=sum(1 for _ in list_documents(data)),
        is_stored=settings.layout == "store",
    )


class ChunkItems:
    """The items of a plan. Can be iterated repeatedly."""

    def __init__(self, settings: ChunkSettings, cfg_hash: str, data: Path) -> None:
        self._is_stored = settings.layout == "store"
        self._suffix = CHUNK_SUFFIXES[settings.format]
        self._cfg_hash = cfg_hash
        self._data = data
        self._meta = {
            "tokenizer": settings.tokenizer,
            "tokens_min": settings.resolved_tokens_min,
            "tokens_max": settings.tokens_max,
            "format": settings.format,
            "layout": settings.layout,
        }

    def __iter__(self) -> Iterator[WorkItem]:
        for document in list_documents(self._data):
            doc_id = document.doc_id
            path = f"{NAME}/{doc_id}" if self._is_stored else f"{CHUNKS}/{doc_id}{self._suffix}"
            yield WorkItem(
                item_id=doc_id,
                inputs={"record": document.source},
                outputs={"chunks": path},
                cfg_hash=self._cfg_hash,
                cost_hint=count_blocks(document),
                meta=self._meta,
            )
