"""The stage `chunk`: every document in DATA becomes chunks, which follow its structure and fit a model."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from inorder.documents.layout import CHUNK_SUFFIXES, CHUNKS, RECORD_SUFFIX, list_outputs
from inorder.errors import OperatorError, require
from inorder.runtime.identity import digest_of
from inorder.stage.contracts import Configurable, Stage, StageError, StageOptions, StagePlan, WorkItem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX

from .chunks import SCHEMA_VERSION, Chunk, chunks_of
from .tokens import Count, counter

NAME = "chunk"
HISTOGRAM = (32, 64, 128, 256, 384, 512, 1024)
"""Bounds of the classes in which the sizes of chunks are counted; the last class is open."""
_BYTES_PER_COST = 100_000


class ChunkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What chunks depend on."""

    tokens_min: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Smaller ones are joined to a neighbour where both fit together; None: half of `tokens_max`."""
    tokens_max: Annotated[int, msgspec.Meta(ge=1)] = 512
    """None is larger."""
    tokenizer: str = "words"
    """`words`, or `hf:PATH` for a tokenizer.json."""
    format: Literal["parquet", "jsonl"] = "parquet"

    def __post_init__(self) -> None:
        require(
            self.least <= self.tokens_max,
            f"tokens_min must be at most tokens_max, got {self.tokens_min} and {self.tokens_max}",
        )

    @property
    def least(self) -> int:
        """Tokens that a chunk should have."""
        return self.tokens_max // 2 if self.tokens_min is None else self.tokens_min


def make(settings: ChunkSettings) -> Stage:
    """The stage with these settings."""
    return Stage(
        name=NAME,
        plan=partial(plan, settings, _configuration(settings)),
        worker=partial(work, settings),
        options=StageOptions(policy="cpu"),
    )


stage = Configurable(settings=ChunkSettings, make=make)


def _configuration(settings: ChunkSettings) -> str:
    """Everything that chunks depend on, but for the documents."""
    counter(settings.tokenizer)
    tokenizer = settings.tokenizer
    kind, _, path = tokenizer.partition(":")
    if kind == "hf":
        try:
            tokenizer = f"hf:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
        except OSError as error:
            raise OperatorError(f"the tokenizer {path} cannot be read: {error.strerror or error}") from error
    sizes = f"{settings.least} {settings.tokens_max}"
    return digest_of(NAME, str(SCHEMA_VERSION), sizes, tokenizer, settings.format)


def plan(settings: ChunkSettings, configuration: str, sources: list[Path], data: Path) -> StagePlan:
    """Every document that `doctags` has made. What it does not have any more loses its chunks."""
    items = _Items(settings, configuration, data)
    return StagePlan(NAME, items, retires=lambda *_: True, expected_items=sum(1 for _ in items))


class _Items:
    """The items, as often as they are wanted."""

    def __init__(self, settings: ChunkSettings, configuration: str, data: Path) -> None:
        self._ending = CHUNK_SUFFIXES[settings.format]
        self._configuration = configuration
        self._data = data

    def __iter__(self) -> Iterator[WorkItem]:
        for found in list_outputs(self._data, "doctags", RECORD_SUFFIX):
            yield WorkItem(
                item_id=found.doc_id,
                inputs={"record": found.path},
                outputs={"chunks": f"{CHUNKS}/{found.doc_id}{self._ending}"},
                cfg_hash=self._configuration,
                cost_hint=1.0 + found.size / _BYTES_PER_COST,
            )


def work(settings: ChunkSettings, item: WorkItem, context: Any) -> dict[str, Any]:
    """One document."""
    from .pieces import pieces_of
    from .storage import write_chunks

    try:
        pieces = pieces_of(Path(item.inputs["record"]).read_bytes())
    except ValueError as error:
        raise StageError(str(error), category="input") from None
    count = _counter(settings.tokenizer)
    chunks = chunks_of(item.item_id, pieces, count, settings.least, settings.tokens_max)
    write_chunks(context.output("chunks"), settings.format, chunks, item.cfg_hash)
    for format_, ending in CHUNK_SUFFIXES.items():
        if format_ != settings.format:
            other = f"{CHUNKS}/{item.item_id}{ending}"
            context.remove(f"{other}{FINGERPRINT_SUFFIX}")
            context.remove(other)
    if not chunks:
        context.warn("the document has no text")
    return _extras(chunks)


@lru_cache(maxsize=1)
def _counter(tokenizer: str) -> Count:
    return counter(tokenizer)


def _extras(chunks: list[Chunk]) -> dict[str, Any]:
    histogram = [0] * (len(HISTOGRAM) + 1)
    for chunk in chunks:
        histogram[sum(chunk.tokens > bound for bound in HISTOGRAM)] += 1
    return {
        "chunks": len(chunks),
        "tokens": sum(chunk.tokens for chunk in chunks),
        "characters": sum(len(chunk.text) for chunk in chunks),
        "histogram": histogram,
    }
