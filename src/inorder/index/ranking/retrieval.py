"""Search for chunks: lexical, dense, or both.

* `lexical`: BM25 over texts and headings. The scores of code are adjusted by names and paths: see `code_signals`.
* `dense`: the vector of the question against those of the documents. Chunks of code have no stored vectors. If the
  provider needs no model, the best lexical hits in code are embedded during the search.
* `hybrid`: the scores of both, fused: see `fusion`.

Chunks of equal score are ordered by item id and number, so an answer does not depend on how the index was built.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.registry import open_dense
from inorder.errors import IntegrityError, OperatorError
from inorder.index.hits import HIT_COLUMNS, Filters, Hit, make_hit
from inorder.index.lexical.analysis import analyze
from inorder.index.lexical.scoring import LexicalIndex
from inorder.index.query import Query
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.schema import read_meta
from inorder.index.vectors import VectorMatrix

from .candidates import CandidateRow, Candidates
from .code_signals import RankedCode, adjust, is_name
from .fusion import MODEL_WEIGHT, Scores, dense_weight, fuse

MODES = ("auto", "hybrid", "lexical", "dense")
LIST_MAX = 400
"""Length of each list before fusion."""
HEAD_WEIGHTS = {DOCUMENT: 0.5, CODE: 1.5}
"""What a match in the headings weighs, beside one in the text: section titles repeat the text, and the name and the
path of code say what it is for."""
_EMBEDDED_MAX = 32
"""Chunks of code that are embedded during a search, at most."""
_PARAMETERS_MAX = 500
_READ_MIN = 20
"""Chunks that are read at once, at least."""


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
        candidates = Candidates()
        if mode != "dense":
            self._add_lexical(candidates, query, allowed)
        if mode != "lexical" and self._matrix.is_available:
            self._add_dense(candidates, query, allowed)
        return self._rank(candidates, query, count)

    def choose_mode(self, query: Query, mode: str, filters: Filters) -> tuple[str, str]:
        """How to search if the mode is `auto`, and why; otherwise the mode itself."""
        if mode != "auto":
            return mode, "asked for"
        if not self._matrix.is_available:
            return "lexical", "the index has no vectors"
        if is_name(query.text):
            return "lexical", "the question is a name"
        if filters.only == CODE and not self._is_without_model:
            return "lexical", "code has no vectors"
        return "hybrid", f"the index has vectors, made by {self._matrix.provider}"

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

    def _add_lexical(self, candidates: Candidates, query: Query, allowed: npt.NDArray[np.bool_]) -> None:
        """Add the chunks whose words match best. What headings weigh depends on the kind of the file, which is read for
        the best chunks of each kind only."""
        body, head = self._lexical.score(query.make_groups(self.languages))
        matches = allowed & (body + head > 0)
        found = [_take_best(np.where(matches, body + weight * head, np.nan)) for weight in HEAD_WEIGHTS.values()]
        numbers = np.unique(np.concatenate(found))
        rows = self._read_rows(numbers)
        weights = np.array([HEAD_WEIGHTS[rows[int(number)].file_kind] for number in numbers])
        scores = body[numbers] + weights * head[numbers]
        best = _take_best(scores)
        candidates.add("lexical", numbers[best], scores[best], rows)

    def _add_dense(self, candidates: Candidates, query: Query, allowed: npt.NDArray[np.bool_]) -> None:
        """Add the chunks whose vectors are most similar, and the similarity of those that are candidates already."""
        provider = self._open_provider()
        [vector] = provider.embed([query.text])
        similarity = np.full(len(self._lexical.chunks), np.nan)
        candidate_ids = self._lexical.chunks[candidates.numbers]
        if self._is_without_model and len(candidate_ids):  # without a model, what has no word in common is not similar
            chunks, found = self._matrix.compare_some(vector, candidate_ids)
        else:
            chunks, found = self._matrix.compare(vector)
        similarity[np.searchsorted(self._lexical.chunks, chunks)] = found
        if self._is_without_model:
            best = candidates.list_best("lexical", _EMBEDDED_MAX)
            hits = self._read_hits([number for number in best if np.isnan(similarity[number])], f"'{CODE}'")
            if hits:
                texts = [f"{hit.name} {hit.text}" for hit in hits.values()]
                similarity[list(hits)] = provider.embed(texts) @ vector
        # Rounded, because the last bits depend on where in the matrix a row is.
        similarity = np.where(allowed, np.round(similarity, 6), np.nan)
        numbers = _take_best(similarity)
        candidates.add("dense", numbers, similarity[numbers], self._read_rows(numbers))
        candidates.complete("dense", similarity)

    def _rank(self, candidates: Candidates, query: Query, count: int) -> list[Hit]:
        """Fuse the lists, and adjust the scores of code. Equal scores are in the order of item ids and numbers."""
        numbers, rows = candidates.sort()
        if not numbers:
            return []
        lists = {name: candidates.list_scores(name, numbers) for name in candidates.lists}
        weights = {"lexical": 1.0, "dense": dense_weight(self._matrix.provider) if len(lists) > 1 else 1.0}
        if "lexical" in lists and len(lists) > 1:
            lists["lexical"] = np.nan_to_num(lists["lexical"])
        shares = fuse(lists, weights) if len(lists) > 1 else dict(lists)
        total = np.sum(list(shares.values()), axis=0)
        adjusted, reasons = _adjust_code(query.text, rows, total)
        order = sorted(range(len(numbers)), key=lambda at: (-adjusted[at], at))
        hits = self._read_distinct([numbers[at] for at in order], count)
        for at in order:
            if numbers[at] not in hits:
                continue
            hit = hits[numbers[at]]
            hit.score = float(adjusted[at])
            hit.shares = {name: float(share[at]) for name, share in shares.items()}
            if reasons[at]:
                hit.shares["code"] = float(adjusted[at] - total[at])
            hit.reasons = reasons[at]
            hit.ranks = candidates.list_ranks(numbers[at])
        return list(hits.values())

    def _read_distinct(self, numbers: Sequence[int], count: int) -> dict[int, Hit]:
        """The first `count` chunks with different texts. One that repeats an earlier one is listed among its copies."""
        found: dict[int, Hit] = {}
        by_text: dict[str, Hit] = {}
        for start in range(0, len(numbers), max(count, _READ_MIN)):
            some = numbers[start : start + max(count, _READ_MIN)]
            hits = self._read_hits(some)
            for number in some:
                hit = hits[number]
                first = by_text.setdefault(hit.text, hit)
                if first is not hit:
                    first.copies.append(hit.item_id)
                elif len(found) < count:
                    found[number] = hit
            if len(found) >= count:
                break
        return found

    def _read_rows(self, numbers: Iterable[int]) -> dict[int, CandidateRow]:
        """What is needed to rank the chunks with these numbers, by number."""
        columns = "item_id, chunks.number, files.kind, chunks.name"
        return {number: CandidateRow(*row) for number, row in self._select(columns, numbers)}

    def _read_hits(self, numbers: Iterable[int], kind: str = "files.kind") -> dict[int, Hit]:
        """The chunks with these numbers, by number: of all files, or of one kind."""
        condition = f" AND files.kind = {kind}"
        return {number: make_hit(row) for number, row in self._select(HIT_COLUMNS, numbers, condition)}

    def _select(self, columns: str, numbers: Iterable[int], condition: str = "") -> Iterator[tuple[int, Sequence[Any]]]:
        wanted = {int(self._lexical.chunks[number]): int(number) for number in numbers}
        ids = list(wanted)
        for start in range(0, len(ids), _PARAMETERS_MAX):
            some = ids[start : start + _PARAMETERS_MAX]
            rows = self._connection.execute(
                f"SELECT chunks.id, {columns} FROM chunks JOIN files ON files.id = file "
                f"WHERE chunks.id IN ({', '.join('?' * len(some))}){condition}",
                some,
            )
            for id_, *row in rows:
                yield wanted[id_], row

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
        """Words of the index that are similar to those words of the question that it does not have."""
        groups = query.make_groups(self.languages)
        missing = {form for group in groups if not self._lexical.has_any(group) for form in group.forms}
        found: list[str] = []
        for term in query.terms:
            if not missing.intersection(analyze(term)):
                continue
            known = self._connection.execute(
                "SELECT DISTINCT name FROM symbols WHERE name LIKE ? AND length(name) BETWEEN ? AND ? LIMIT 5000",
                (f"{term[:1]}%", len(term) - 2, len(term) + 2),
            )
            words = {str(name).lower() for (name,) in known}
            words |= self._lexical.find_similar_terms(term[:1], len(term) - 3, len(term) + 2)
            found += _find_similar(term, sorted(words - {term}), 2)
        return list(dict.fromkeys(found))


def _find_similar(word: str, known: Sequence[str], count: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, known, n=count, cutoff=0.75)


def _adjust_code(question: str, rows: Sequence[CandidateRow], total: Scores) -> tuple[Scores, list[list[str]]]:
    """The scores with those of code adjusted, and the reasons for each."""
    places = [at for at, row in enumerate(rows) if row.file_kind == CODE]
    found = adjust(question, [RankedCode(rows[at].item_id, rows[at].name) for at in places], total[places])
    scores = total.copy()
    reasons: list[list[str]] = [[] for _ in rows]
    scores[places] = found.scores
    for at, each in zip(places, found.reasons, strict=True):
        reasons[at] = each
    return scores, reasons


def _take_best(scores: Scores) -> npt.NDArray[np.int64]:
    """The numbers of the best scores, with all that are equal to the last one."""
    known = np.flatnonzero(~np.isnan(scores))
    if len(known) <= LIST_MAX:
        return known
    found = scores[known]
    best: npt.NDArray[np.int64] = known[found >= np.partition(found, -LIST_MAX)[-LIST_MAX]]
    return best
