"""Search for chunks: lexical, dense, or both.

* `lexical`: BM25 over texts and headings.
* `dense`: the vector of the question against those of the documents. Chunks of code have no stored vectors. If the
  provider needs no model, the best lexical hits in code are embedded during the search.
* `hybrid`: the scores of both, fused: see `fusion`.

Chunks of equal score are ordered by item id and number, so an answer does not depend on how the index was built.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.registry import open_dense
from inorder.errors import IntegrityError, OperatorError
from inorder.index.hits import HIT_COLUMNS, Filters, Hit, make_hit
from inorder.index.lexical.scoring import LexicalIndex
from inorder.index.query import Query
from inorder.index.rows import CODE
from inorder.index.schema import read_meta
from inorder.index.vectors import VectorMatrix

from .fusion import MODEL_WEIGHT, Scores, dense_weight, fuse

MODES = ("hybrid", "lexical", "dense")
LIST_MAX = 200
"""Length of each list before fusion."""
_EMBEDDED_MAX = 32
"""Chunks of code that are embedded during a search, at most."""
_PARAMETERS_MAX = 500


class Searcher:
    """Answers queries from one index."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        if connection.execute("SELECT name FROM sqlite_master WHERE name = 'segments'").fetchone() is None:
            raise OperatorError(
                "the index was written by an older version of inorder: run `inorder index` to convert it"
            )
        self._connection = connection
        self._matrix = VectorMatrix(connection, data)
        self._provider: Any = None

    @cached_property
    def _lexical(self) -> LexicalIndex:
        return LexicalIndex(self._connection)

    @cached_property
    def languages(self) -> list[str]:
        """The languages of the documents in the index."""
        return read_meta(self._connection, "languages").split()

    def search(self, query: Query, mode: str, count: int, filters: Filters) -> list[Hit]:
        """The `count` best chunks. Hybrid search does without vectors that are not there: see `warning`."""
        if mode == "dense" and self._matrix.problem:
            raise IntegrityError(self._matrix.problem)
        if mode == "dense" and not self._matrix.is_available:
            raise OperatorError("the index has no dense vectors: run `inorder embed` and `inorder index`")
        allowed = self._find_allowed(filters)
        scores: dict[str, Scores] = {}
        if mode != "dense":
            found = self._lexical.score(query.make_groups(self.languages))
            scores["lexical"] = np.where(allowed & (found > 0), found, np.nan)
        if mode != "lexical" and self._matrix.is_available:
            scores["dense"] = np.where(allowed, self._compare_vectors(query, scores.get("lexical")), np.nan)
        return self._rank(scores, count)

    @property
    def warning(self) -> str:
        """Why hybrid search has only words to go by, although the index was made with vectors; empty if it does not."""
        return f"hybrid search uses words only: {self._matrix.problem}" if self._matrix.problem else ""

    def is_current(self) -> bool:
        """Whether the file of the vectors is as it was when it was opened."""
        return self._matrix.is_current()

    def _find_allowed(self, filters: Filters) -> npt.NDArray[np.bool_]:
        """Which chunks meet the conditions."""
        conditions, values = filters.sql()
        if not conditions:
            return self._lexical.alive
        rows = self._connection.execute(
            f"SELECT chunks.id FROM chunks JOIN files ON files.id = file WHERE 1{conditions}", values
        )
        allowed = np.zeros(len(self._lexical.chunks), np.bool_)
        allowed[np.searchsorted(self._lexical.chunks, np.array([id_ for (id_,) in rows], np.int64))] = True
        return allowed

    def _compare_vectors(self, query: Query, lexical: Scores | None) -> Scores:
        """The similarity of every chunk to the question; NaN for one without a vector."""
        provider = self._open_provider()
        [vector] = provider.embed([query.text])
        similarity = np.full(len(self._lexical.chunks), np.nan)
        chunks, found = self._matrix.compare(vector)
        similarity[np.searchsorted(self._lexical.chunks, chunks)] = found
        if lexical is not None and self._is_without_model:
            best = _take_best(lexical, _EMBEDDED_MAX)
            missing = best[np.isnan(similarity[best])]
            hits = self._read_hits(missing, f" AND files.kind = '{CODE}'")
            if hits:
                texts = [f"{hit.name} {hit.text}" for hit in hits.values()]
                similarity[list(hits)] = provider.embed(texts) @ vector
        # Rounded, because the last bits depend on where in the matrix a row is.
        return np.round(similarity, 6)

    def _rank(self, scores: dict[str, Scores], count: int) -> list[Hit]:
        """Fuse the best of each list. Equal scores are in the order of item ids and numbers."""
        best = {name: _take_best(each, LIST_MAX) for name, each in scores.items()}
        candidates = np.unique(np.concatenate([*best.values(), np.zeros(0, np.int64)]))
        if not len(candidates):
            return []
        weights = {"lexical": 1.0, "dense": dense_weight(self._matrix.provider) if len(scores) > 1 else 1.0}
        lists = {name: each[candidates] for name, each in scores.items()}
        if "lexical" in lists and len(lists) > 1:
            lists["lexical"] = np.nan_to_num(lists["lexical"])
        shares = fuse(lists, weights) if len(lists) > 1 else lists
        total = np.sum(list(shares.values()), axis=0)
        kept = candidates if len(candidates) <= count else candidates[total >= np.partition(total, -count)[-count]]
        hits = self._read_hits(kept)
        at = {int(number): position for position, number in enumerate(candidates)}
        for number, hit in hits.items():
            hit.score = float(total[at[number]])
            hit.shares = {name: float(share[at[number]]) for name, share in shares.items()}
            hit.ranks = {
                name: 1 + int((scores[name][members] > scores[name][number]).sum())
                for name, members in best.items()
                if number in members
            }
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.item_id, hit.number))[:count]

    def _read_hits(self, numbers: Iterable[int], condition: str = "") -> dict[int, Hit]:
        """The chunks with these numbers, by number."""
        hits: dict[int, Hit] = {}
        wanted = {int(self._lexical.chunks[number]): int(number) for number in numbers}
        ids = list(wanted)
        for start in range(0, len(ids), _PARAMETERS_MAX):
            some = ids[start : start + _PARAMETERS_MAX]
            rows = self._connection.execute(
                f"SELECT chunks.id, {HIT_COLUMNS} FROM chunks JOIN files ON files.id = file "
                f"WHERE chunks.id IN ({', '.join('?' * len(some))}){condition}",
                some,
            )
            hits |= {wanted[id_]: make_hit(row) for id_, *row in rows}
        return hits

    @property
    def _is_without_model(self) -> bool:
        return dense_weight(self._matrix.provider) < MODEL_WEIGHT

    def _open_provider(self) -> Any:
        if self._provider is None:
            self._provider = open_dense(self._matrix.provider)
        return self._provider

    def check_filters(self, filters: Filters) -> None:
        """Raise OperatorError for a language or a kind that nothing in the index has."""
        for name, value, table in (("language", filters.language, "files"), ("kind", filters.kind, "chunks")):
            if not value:
                continue
            rows = self._connection.execute(f"SELECT DISTINCT {name} FROM {table} WHERE {name} != '' ORDER BY {name}")
            known = [str(found) for (found,) in rows]
            if value not in known:
                similar = "".join(f"; did you mean {word}?" for word in _find_similar(value, known, 1))
                listed = f"; there is: {', '.join(known)}" if known and not similar else ""
                raise OperatorError(f"nothing in the index has {name} {value!r}{similar}{listed}")

    def suggest_words(self, query: Query) -> list[str]:
        """Words of the index that are similar to those of the query."""
        found: list[str] = []
        for term in query.terms:
            known = self._connection.execute(
                "SELECT DISTINCT name FROM symbols WHERE name LIKE ? AND length(name) BETWEEN ? AND ? LIMIT 5000",
                (f"{term[:1]}%", len(term) - 2, len(term) + 2),
            )
            words = {str(name).lower() for (name,) in known}
            words |= self._lexical.find_similar_terms(term[:1], len(term) - 3, len(term) + 2)
            found += _find_similar(term, sorted(words), 2)
        return list(dict.fromkeys(found))


def _find_similar(word: str, known: Sequence[str], count: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, known, n=count, cutoff=0.75)


def _take_best(scores: Scores, count: int) -> npt.NDArray[np.int64]:
    """The numbers of the best scores, with all that are equal to the last one."""
    known = np.flatnonzero(~np.isnan(scores))
    if len(known) <= count:
        return known
    found = scores[known]
    best: npt.NDArray[np.int64] = known[found >= np.partition(found, -count)[-count]]
    return best
