"""The statistics of a corpus of which few documents have changed: those of the last run, without what these documents
contributed then, and with what they contribute now.

The statistics of terms are in the store. What else is needed for exact totals is kept in `DATA/cache/embed.corpus`: for
every family, how many documents have the same facts, and what identifies the vectors. It is a cache; without it, all
documents are read.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from inorder.documents.layout import EMBED, find_stored, get_vector_kind
from inorder.host.filesystem import SystemFilesystem, write_atomic
from inorder.stage.store.database import open_store
from inorder.stage.store.reading import read_many

from .corpus_statistics import PackedStatistics, TermChange, change_statistics, decode_statistics
from .counting.messages import FamilyState
from .stored_terms import unpack_stored_terms
from .totals import DENSE_FACTS, FamilyTotals, add_dense_table

DOCUMENTS_MAX = 1000
"""If more documents have changed, all are read."""
_FACTS_MAX = 100_000
"""Documents with different facts. If there are more, nothing is kept."""


class _CorpusState(msgspec.Struct, array_like=True):
    cfg_hash: str
    families: dict[str, FamilyState]
    identity: bytes = b""
    """What identifies the vectors that the statistics are made of: see `corpus_identity`."""


_DECODER = msgspec.msgpack.Decoder(_CorpusState)


class CorpusChange(msgspec.Struct, array_like=True):
    """What a worker needs to know of a change. It travels with the item of the corpus."""

    doc_ids: list[str]
    """Documents that have changed or are new."""
    dense: list[dict[str, Any]]
    """What is known of the dense vectors that changed documents had."""
    lexical: list[bytes]
    """The terms that they had."""


def describe_change(data: str, families: Iterable[str], changed: Sequence[str], present: Iterable[str]) -> bytes | None:
    """Describe a change before the stage replaces the vectors of documents that have changed or are gone. `present` are
    those that have not gone. None: the statistics must be computed from all documents."""
    store = open_store(data, EMBED)
    if store is None or not {"dense", "lexical"} >= {*families} or len(changed) > DOCUMENTS_MAX:
        return None
    found = CorpusChange(sorted(present), [], [])
    dense, lexical = (
        {f"{family}/{doc_id}": doc_id for doc_id in changed} if family in families else {}
        for family in ("dense", "lexical")
    )
    for item in store.get_all(dense).values():
        facts = item.extras
        if not facts.keys() >= DENSE_FACTS:
            return None
        found.dense.append({name: facts[name] for name in DENSE_FACTS})
    found.lexical += [content for _, content in store.read_all(lexical).values()]
    return msgspec.msgpack.encode(found)


def update_corpus(
    data: str, corpus_id: str, families: Sequence[str], change: bytes
) -> tuple[dict[str, FamilyTotals], PackedStatistics] | None:
    """The totals and the terms of all documents, from those of the last run; None: they are not known."""
    store = open_store(data, EMBED)
    last = None if store is None else store.read(corpus_id)
    state = _read_state(data)
    if last is None or state is None or state.cfg_hash != last[0].cfg_hash or {*state.families} != {*families}:
        return None
    described = msgspec.msgpack.decode(change, type=CorpusChange)
    totals = unpack_totals({family: state.families[family] for family in families})
    terms = TermChange()
    for facts in described.dense:
        totals["dense"].add_file(facts["vectors"], facts["norms"], facts["dimensions"], facts["provider"], times=-1)
    for table in map(unpack_stored_terms, described.lexical):
        totals["lexical"].add_file(len(table.sizes), {}, times=-1)
        totals["lexical"].add_terms(table.sizes, times=-1)
        terms.add(table, times=-1)
    _add_new(data, totals, terms, described.doc_ids)
    statistics = change_statistics(load_statistics(last[1]), count_chunks(totals), terms)
    return None if statistics is None else (totals, statistics)


def count_chunks(totals: Mapping[str, FamilyTotals]) -> int:
    """The number of chunks of all documents."""
    return max(total.vectors for total in totals.values())


def load_statistics(content: bytes) -> PackedStatistics:
    """The statistics of the last run, which may be those of an older version."""
    found = decode_statistics(content)
    if found is not None:
        return found
    from .storage import read_statistics_file  # with PyArrow, which is slow to import

    return read_statistics_file(content)


def _add_new(data: str, totals: Mapping[str, FamilyTotals], terms: TermChange, doc_ids: Sequence[str]) -> None:
    for family, total in totals.items():
        found = find_stored(data, get_vector_kind(family), doc_ids)
        if family == "dense":
            for result in found.values():
                add_dense_table(total, result)
            continue
        for content in read_many([result.source for result in found.values()]):
            table = unpack_stored_terms(content)
            total.add_file(len(table.sizes), {})
            total.add_terms(table.sizes)
            terms.add(table)


def read_identity(data: str, corpus_id: str, hash_of: Callable[[bytes], str]) -> bytes | None:
    """What identifies the vectors that the statistics in the store are made of; None: it is not known. `hash_of`
    returns the configuration of statistics that are made of vectors with an identity."""
    store, state = open_store(data, EMBED), _read_state(data)
    last = None if store is None else store.get(corpus_id)
    if last is None or state is None or last.cfg_hash != hash_of(state.identity):
        return None
    return state.identity


def keep_state(data: str, cfg_hash: str, totals: Mapping[str, FamilyTotals], identity: bytes) -> None:
    """Keep what the next update needs. An error of the disk is ignored."""
    if sum(len(total.files) for total in totals.values()) > _FACTS_MAX:
        return
    state = _CorpusState(cfg_hash, pack_totals(totals), identity)
    with contextlib.suppress(OSError):
        write_atomic(SystemFilesystem(), _locate(data), msgspec.msgpack.encode(state))


def pack_totals(totals: Mapping[str, FamilyTotals]) -> dict[str, FamilyState]:
    """The totals of every family, in a form that can be sent."""
    return {
        family: FamilyState(sorted((+total.files).items(), key=repr), dict(sorted((+total.nnz).items())))
        for family, total in totals.items()
    }


def unpack_totals(families: Mapping[str, FamilyState]) -> dict[str, FamilyTotals]:
    """The inverse of `pack_totals`."""
    return {family: _restore(state) for family, state in families.items()}


def _restore(state: FamilyState) -> FamilyTotals:
    totals = FamilyTotals()
    totals.files = Counter(dict(state.files))
    totals.nnz = Counter(state.nnz)
    return totals


def _read_state(data: str) -> _CorpusState | None:
    with contextlib.suppress(OSError, msgspec.DecodeError), open(_locate(data), "rb") as file:
        return _DECODER.decode(file.read())
    return None


def _locate(data: str) -> str:
    return f"{data}/cache/embed.corpus"
