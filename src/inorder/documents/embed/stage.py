"""The stage `embed`: the chunks of every document become vectors, one table per document and family.

An item is one document in one family, so that another dense provider recomputes dense vectors and nothing else. After
all of them, the totals of the corpus are updated: the item `__corpus__` depends on all tables, and is skipped if none
of them has changed. Without a family there is nothing else: words are found by the index alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from inorder.documents.cost import count_chunks
from inorder.documents.edits import edit_documents
from inorder.documents.layout import (
    CHUNK,
    CHUNK_RESULTS,
    Result,
    StoredResults,
    bind_count_stored,
    estimate_count,
    get_vector_kind,
    has_valid_ids,
    list_chunked,
    list_current_vectors,
    list_vector_hashes,
)
from inorder.errors import require
from inorder.files.predicted import get_predicted_change, is_predicting
from inorder.runtime.identity import hash_strings
from inorder.stage.contracts import (
    Barrier,
    Configurable,
    Derivation,
    LastRun,
    MakeItems,
    PlanEdits,
    Stage,
    StageHooks,
    StagePlan,
    WorkItem,
)
from inorder.stage.options import StageOptions
from inorder.stage.store.inputs import StoredInput

from .corpus import CORPUS, CorpusChange, IdentitySum, encode_state, read_state
from .groups import count_group, embed_group
from .providers.registry import find_module, identity, is_sparse_provider, policy
from .providers.server.limits import ServerLimits
from .shared.opening import OpenProviders
from .worker import IMPORTS, STORED, work

NAME = "embed"
READS = ("store", "chunk", NAME)
"""What the totals of the corpus are made of: a folder of DATA, and how the names of stored results begin."""
SCHEMA_VERSION = 1
_CORPUS_VERSION = "totals 2"
"""To be changed whenever the totals of the corpus change, or what identifies its vectors."""
_IDENTITIES = 1024
"""Documents that are hashed at once."""
_NONE = "none"
_LIMITS = ServerLimits()
_TIMEOUT_S = 3600.0
"""A long document has ten thousand chunks, and a model without a GPU makes a few vectors per second."""


class EmbedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which families of vectors are computed, and by which providers."""

    dense: str = "static"
    """Dense embedding provider; `none` for no dense vectors."""
    sparse: str = _NONE
    """Sparse embedding provider; `none` for no sparse vectors."""
    server_in_flight: int = _LIMITS.in_flight
    """Concurrent requests to a server. Vectors do not depend on this, nor on what follows."""
    server_rate_per_s: float | None = _LIMITS.rate_per_s
    server_burst: int = _LIMITS.burst
    server_tokens_per_minute: int | None = _LIMITS.tokens_per_minute
    server_texts_max: int = _LIMITS.texts_max
    server_attempts_max: int = _LIMITS.attempts_max
    server_deadline_s: float = _LIMITS.deadline_s

    def __post_init__(self) -> None:
        _ = self.server_limits  # checks them

    @property
    def server_limits(self) -> ServerLimits:
        """The limits of a provider behind a server."""
        prefix = "server_"
        names = [name.removeprefix(prefix) for name in self.__struct_fields__ if name.startswith(prefix)]
        return ServerLimits(**{name: getattr(self, f"{prefix}{name}") for name in names})

    @property
    def families(self) -> dict[str, str]:
        """The enabled families, and the provider of each."""
        specs = {"dense": self.dense, "sparse": self.sparse}
        return {family: spec for family, spec in specs.items() if spec != _NONE}


def make(settings: EmbedSettings) -> Stage:
    """The stage with these settings."""
    providers = settings.families
    for family, spec in providers.items():
        _require_family(family, spec)
    opened = OpenProviders(providers, settings.server_limits)
    cfg_hashes = _hash_configurations(settings)
    return Stage(
        name=NAME,
        plan=partial(plan, settings, cfg_hashes, on_embedded=opened.end_embedding),
        worker=work,
        follow=None if opened.shared else partial(_follow, settings, cfg_hashes),
        imports=IMPORTS,
        follow_imports=(STORED, *filter(None, map(find_module, providers.values()))),
        hooks=StageHooks(
            worker_setup=opened.open_in_worker,
            before_stage=opened.open_in_driver,
            after_stage=opened.close,
            group_size=partial(count_group, opened.shared) if opened.shared else None,
            before_group=embed_group if opened.shared else None,
        ),
        options=StageOptions(policy="gpu" if _needs_gpu(settings) else "cpu", timeout_s=_TIMEOUT_S),
    )


stage = Configurable(settings=EmbedSettings, make=make)


def _needs_gpu(settings: EmbedSettings) -> bool:
    return any(policy(spec) == "gpu" for spec in settings.families.values())


def _require_family(family: str, spec: str) -> None:
    """Refuse a sparse provider for dense vectors, and the other way round, before any item fails because of it."""
    is_sparse = is_sparse_provider(spec)
    require(
        is_sparse == (family == "sparse"),
        f"{spec!r} computes {'sparse' if is_sparse else 'dense'} vectors; give it as "
        f"--{'sparse' if is_sparse else 'dense'} {spec}",
    )


def _hash_configurations(settings: EmbedSettings) -> dict[str, str]:
    """For each family, a hash of what its vectors depend on besides the chunks."""
    return {
        family: hash_strings(NAME, str(SCHEMA_VERSION), family, identity(spec))
        for family, spec in settings.families.items()
    }


def plan(
    settings: EmbedSettings,
    cfg_hashes: dict[str, str],
    sources: list[Path],
    data: Path,
    on_embedded: Callable[[], None] | None = None,
) -> StagePlan:
    """Plan every document that has chunks. The vectors of other documents are removed. `on_embedded` is called when all
    documents are committed."""
    items = _make_embed_items(settings, cfg_hashes, data, on_embedded)
    return StagePlan(
        NAME,
        items,
        retires=lambda *_: True,
        expected_items=items.estimate_count(),
        policy="gpu" if _needs_gpu(settings) else None,
        owns_device=False,
        is_stored=True,
        derived_from=(
            Derivation(stages=("chunk",), version=items.hash_configuration(), find_edits=items.find_edits)
            if settings.families
            else None
        ),
    )


def _make_embed_items(
    settings: EmbedSettings, cfg_hashes: dict[str, str], data: Path, on_embedded: Callable[[], None] | None = None
) -> "EmbedItems":
    return EmbedItems(settings.families, cfg_hashes, os.path.abspath(data), on_embedded)


def _follow(settings: EmbedSettings, cfg_hashes: dict[str, str], data: Path) -> MakeItems:
    return _make_embed_items(settings, cfg_hashes, data).follow


class EmbedItems:
    """The items of a plan. Can be iterated repeatedly."""

    def __init__(
        self,
        families: dict[str, str],
        cfg_hashes: dict[str, str],
        data: str,
        on_embedded: Callable[[], None] | None,
    ) -> None:
        self._on_embedded = on_embedded
        self._families = families
        self._cfg_hashes = cfg_hashes
        self._data = data

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        for chunks in list_chunked(self._data):
            yield from self._make_items(chunks)
        yield Barrier()
        yield self._make_corpus_item()

    def _make_corpus_item(self, change: CorpusChange | None = None) -> WorkItem:
        """The item after all others, which are committed."""
        if self._on_embedded is not None:
            self._on_embedded()
        state = None if change is None else change.finish()
        identity = self._identify_corpus() if state is None else state.identity
        return WorkItem(
            item_id=CORPUS,
            outputs={"totals": f"{NAME}/{CORPUS}"},
            cfg_hash=self._hash_corpus(identity),
            meta={
                "family": CORPUS,
                "families": list(self._cfg_hashes),
                "identity": identity,
                "state": None if state is None else encode_state(state),
            },
            reads=READS,
        )

    def find_edits(self, last: LastRun) -> PlanEdits | None:
        """The documents that were chunked again, or removed, since the last run, and the corpus."""
        ids = last.changed[CHUNK_RESULTS.stage]
        chunks = StoredResults(self._data, CHUNK_RESULTS, ids)
        families = [*self._cfg_hashes]
        count_ids = bind_count_stored(self._data, get_vector_kind(families[0]))
        prefixes = [f"{family}/" for family in families]
        edits = edit_documents(
            last, ids, chunks.doc_ids, lambda doc_id: self._make_items(chunks[doc_id]), prefixes, count_ids
        )
        if edits is None:
            return None
        corpus = last.count - 1
        items = self._add_corpus(edits.items, corpus, self._describe_change(ids))
        return msgspec.structs.replace(edits, items=items, dropped={*edits.dropped, corpus})

    def _add_corpus(
        self, items: Iterable[tuple[int, WorkItem] | Barrier], number: int, change: CorpusChange | None
    ) -> Iterator[tuple[int, WorkItem] | Barrier]:
        yield from items
        yield Barrier()
        yield number, self._make_corpus_item(change)

    def _describe_change(self, doc_ids: Set[str]) -> CorpusChange | None:
        """The totals of all documents but these, which may get other vectors; None: they are not known."""
        if is_predicting() or not has_valid_ids(self._data):
            return None
        last = read_state(self._data, self._hash_corpus)
        return None if last is None else CorpusChange(self._data, self._cfg_hashes, sorted(doc_ids), last)

    def follow(self, doc_id: str, results: Mapping[str, StoredInput]) -> list[WorkItem]:
        """The items of a document that was just chunked."""
        chunks = results.get(CHUNK)
        return [] if chunks is None else self._make_items(Result(doc_id, chunks, chunks.size))

    def _make_items(self, chunks: Result) -> list[WorkItem]:
        cost, doc_id = count_chunks(chunks), chunks.doc_id
        return [
            WorkItem(
                item_id=f"{family}/{doc_id}",
                inputs={"chunks": chunks.source},
                outputs={"vectors": f"{NAME}/{family}/{doc_id}"},
                cfg_hash=cfg_hash,
                cost_hint=cost,
                meta={"family": family, "spec": self._families[family]},
                batch_key=family,
            )
            for family, cfg_hash in self._cfg_hashes.items()
        ]

    def estimate_count(self) -> int:
        """The number of items, `__corpus__` included."""
        return estimate_count(self._data, CHUNK_RESULTS) * len(self._cfg_hashes) + 1

    def hash_configuration(self) -> str:
        """A hash of everything that the vectors of all families depend on besides the chunks."""
        families = [f"{family}={cfg_hash}" for family, cfg_hash in self._cfg_hashes.items()]
        return hash_strings(NAME, str(SCHEMA_VERSION), _CORPUS_VERSION, *families)

    def _identify_corpus(self) -> str:
        """What identifies all vectors of the enabled families, taken from their rows."""
        total = IdentitySum()
        for block in self._list_identities():
            total.add(block)
        return total.encode()

    def _hash_corpus(self, identity: str) -> str:
        """A hash of everything that the totals of the corpus depend on."""
        families = ",".join(self._cfg_hashes)
        return hash_strings(NAME, str(SCHEMA_VERSION), _CORPUS_VERSION, families, identity)

    def _list_identities(self) -> Iterator[list[tuple[str, str]]]:
        """The item id of all vectors of the enabled families, each with what changes whenever they change, in
        blocks."""
        families = tuple(self._cfg_hashes)
        if not is_predicting() and has_valid_ids(self._data):
            yield from list_vector_hashes(self._data, families)
            return
        tables = list_current_vectors(self._data, families)
        while block := list(islice(tables, _IDENTITIES)):
            yield [(f"{family}/{table.doc_id}", _identify(table)) for family, table in block]


def _identify(table: Result) -> str:
    """What changes whenever the vectors of a document change."""
    change = get_predicted_change(os.fspath(table.source))
    return table.source.sha256 if change is None else str(change)
