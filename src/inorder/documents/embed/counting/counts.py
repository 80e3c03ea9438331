"""What is known of all documents of a corpus: the totals of every family, and the statistics of terms."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from inorder.documents.embed.corpus import count_chunks
from inorder.documents.embed.corpus_statistics import PackedStatistics, encode_statistics
from inorder.documents.embed.totals import FamilyTotals, add_dense_table, add_sparse_table
from inorder.documents.layout import Result, list_current_vectors
from inorder.stage.store.inputs import Input

if TYPE_CHECKING:
    from inorder.documents.embed.stored_terms import StoredTerms
    from inorder.documents.embed.term_statistics import TermStatistics

_BLOCK_DOCUMENTS = 128
"""Documents whose terms are read at once."""


class CorpusSummary(NamedTuple):
    """The totals of every family, and the statistics of terms as the store keeps them."""

    totals: Mapping[str, FamilyTotals]
    statistics: bytes
    terms: int
    """Number of different terms."""
    length: int
    """Number of words."""


class CorpusCounts:
    """Adds up the vectors of documents. Memory grows with the vocabulary only."""

    def __init__(self, families: Sequence[str]) -> None:
        from inorder.documents.embed.term_statistics import TermStatistics

        self.totals = {family: FamilyTotals() for family in families}
        self.terms: TermStatistics = TermStatistics()

    def add_vectors(self, family: str, table: Result) -> None:
        """Add the dense or sparse vectors of a document."""
        (add_dense_table if family == "dense" else add_sparse_table)(self.totals[family], table)

    def add_terms(self, table: "StoredTerms") -> None:
        """Add the terms of a document."""
        total = self.totals["lexical"]
        total.add_file(len(table.sizes), {})
        total.add_terms(table.sizes)
        self.terms.add(table)


def count_corpus(data: str | os.PathLike[str], families: Sequence[str]) -> CorpusCounts:
    """Count all documents that have chunks."""
    counts = CorpusCounts(families)
    lexical: list[Input] = []
    try:
        for family, table in list_current_vectors(data, tuple(families)):
            if family != "lexical":
                counts.add_vectors(family, table)
                continue
            lexical.append(table.source)
            if len(lexical) == _BLOCK_DOCUMENTS:
                _add_stored_terms(counts, lexical)
                lexical = []
        _add_stored_terms(counts, lexical)
    except BaseException:
        counts.terms.close()
        raise
    return counts


def _add_stored_terms(counts: CorpusCounts, sources: Sequence[Input]) -> None:
    from inorder.documents.embed.stored import load_stored_terms

    for table in load_stored_terms(sources):
        counts.add_terms(table)


def summarize_counts(totals: Mapping[str, FamilyTotals], terms: "TermStatistics") -> CorpusSummary:
    """The summary of what was counted. Nothing can be added afterwards."""
    from inorder.documents.embed.storage import pack_counted

    return summarize_statistics(totals, pack_counted(count_chunks(totals), terms.finish()))


def summarize_statistics(totals: Mapping[str, FamilyTotals], statistics: PackedStatistics) -> CorpusSummary:
    """The summary of these totals and statistics."""
    return CorpusSummary(totals, encode_statistics(statistics), statistics.terms, statistics.length)
