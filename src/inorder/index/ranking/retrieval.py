"""Search for chunks: lexical, dense, or both.

* `lexical`: BM25 over texts and headings. The scores of code are adjusted by names and paths: see `code_signals`.
* `dense`: the vector of the question against those of the documents. Chunks of code have no stored vectors. If the
  provider needs no model, those of the best lexical hits in code are computed during the search: see `code_vectors`.
* `hybrid`: the scores of both, fused: see `fusion`.

Chunks of equal score are ordered by item id and number, so an answer does not depend on how the index was built.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.registry import needs_trust
from inorder.errors import IntegrityError, OperatorError
from inorder.extensions.trust import require_trusted
from inorder.index.hits import HIT_COLUMNS, Filters, Hit, make_hit
from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.query import Query, widen_groups
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.schema import read_meta
from inorder.index.vectors.matrix import VectorMatrix, compare_rows

from .candidates import LIST_MAX, Candidates, Numbers, spread, take_best
from .code_signals import RankedCode, adjust, is_name, may_only_export
from .code_vectors import describe_code
from .file_kinds import CHANGES, asks_for_changes, find_factor, lists_changes
from .fusion import MODEL_WEIGHT, Scores, code_weight, dense_weight, fuse, scale_to
from .noise import measure_noise
from .question_provider import open_question_provider

_LENGTHENED = 8
"""A list is this many times as long if an answer has too few hits, because the question accepts few of its chunks."""
HEAD_WEIGHTS = {DOCUMENT: 0.5, CODE: 1.5}
"""What a match in the headings weighs, beside one in the text: section titles repeat the text, and the name and the
path of code say what it is for."""
CODE_PROVIDER = "static"
"""Makes the vectors of code if those of documents are made by a model, or there are none."""
_EMBEDDED_MAX = 16
"""Chunks of code that are embedded during a search, about."""
_FEW = 50
"""If words find fewer chunks, all vectors are compared; otherwise only those of the chunks that words have found."""
_FUNCTIONS = ("function", "method")
_ALIKE = np.zeros(0)
_PARAMETERS_MAX = 500
_READ_MIN = 20
"""Chunks that are read at once, at least."""
_SIMILAR_MIN = 0.75
_CORRECTED_MIN = 0.8
"""How similar a word is that stands for one that the index does not have, if it has no word of the question."""
_NOTED_MAX = 50
"""Hits whose texts are read to see whether they have words with signs as the question writes them."""
_SUGGESTED = 2
"""Words that are suggested for one that the index does not have."""


class Searcher:
    """Answers queries from one index."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self._connection = connection
        self._matrix = VectorMatrix(connection, data)
        self._data = data
        """DATA, or the address of an export: what says which provider made the vectors."""
        self._providers: dict[str, Any] = {}
        self._asked: tuple[Query | None, list[TermGroup]] = (None, [])
        """The latest question, and its words."""

    @cached_property
    def _lexical(self) -> LexicalIndex:
        return LexicalIndex(self._connection)

    @cached_property
    def languages(self) -> dict[str, int]:
        """The languages of the documents in the index, and the number of documents in each."""
        names = read_meta(self._connection, "languages").split()
        counts = read_meta(self._connection, "language_counts").split() or ["1"] * len(names)
        return dict(zip(names, map(int, counts), strict=True))

    def find_groups(self, query: Query) -> list[TermGroup]:
        """The words to look up: whole ones, or the beginnings of words if the index has none of them."""
        if self._asked[0] != query:
            groups = query.make_groups(self.languages)
            for widen in (widen_groups, self._correct_groups):
                if not any(map(self._lexical.has_any, groups)):
                    groups = widen(groups)
            self._asked = query, groups
        return self._asked[1]

    def _correct_groups(self, groups: Sequence[TermGroup]) -> list[TermGroup]:
        """The most similar words of the index as further forms of each word."""
        found = []
        for group in groups:
            term = group.forms[0]
            known = self._lexical.find_similar_terms(term[:2], len(term) - 2, len(term) + 2) if len(term) > 3 else ()
            similar = _find_similar(term, sorted(known), 1, _CORRECTED_MIN)
            found.append(group._replace(forms=(*group.forms, *similar)))
        return found

    def _knows_words(self, query: Query) -> bool:
        """Whether the index has a word of the question."""
        return any(map(self._lexical.has_any, self.find_groups(query)))

    @cached_property
    def noise(self) -> float:
        """The similarity that a question of random letters reaches; 0 if there are no vectors."""
        matrix = self._matrix
        matrix.check()
        return measure_noise(self._open_provider(matrix.provider), matrix) if matrix.is_available else 0.0

    def search(self, query: Query, mode: str, count: int, filters: Filters) -> list[Hit]:
        """The `count` best chunks. Hybrid search does without vectors that are not there: see `warning`."""
        if mode != "lexical":
            self._matrix.check()
        if mode == "dense" and self._matrix.problem:
            raise IntegrityError(self._matrix.problem)
        if mode == "dense" and not self._vector_provider(filters):
            raise OperatorError("the index has no dense vectors: run `inorder embed` and `inorder index`")
        allowed = self._require_words(query, self._find_allowed(filters))
        candidates = Candidates(LIST_MAX)
        while True:
            if mode != "dense":
                self._add_lexical(candidates, query, allowed)
            if mode != "lexical" and self._vector_provider(filters):
                self._add_dense(candidates, query, allowed, filters)
            hits = self._rank(candidates, query, count, self._vector_provider(filters))
            if len(hits) >= count or not candidates.is_cut:
                return hits
            candidates = Candidates(_LENGTHENED * candidates.length)

    def choose_mode(self, query: Query, mode: str, filters: Filters) -> tuple[str, str]:
        """How to search if the mode is `auto`, and why; otherwise the mode itself."""
        if mode != "auto":
            return mode, "asked for"
        if not is_name(query.text):
            self._matrix.check()
        provider = self._vector_provider(filters)
        if not provider:
            return "lexical", "the index has no vectors"
        if is_name(query.text):
            return "lexical", "the question is a name"
        covers = getattr(self._open_provider(provider), "covers", None)
        if covers is not None and not covers(query.text):
            return "lexical", f"the vectors of {provider} know no words of this script"
        if provider != self._matrix.provider:
            return "hybrid", f"vectors of code are made by {provider}"
        return "hybrid", f"the index has vectors, made by {provider}"

    def _vector_provider(self, filters: Filters) -> str:
        """Which provider made the vectors, or makes them during the search; empty if there are none."""
        if self._matrix.problem:
            return ""
        has_quick = self._matrix.is_available and is_without_model(self._matrix.provider)
        if (filters.only == CODE or self._kinds == {CODE}) and not has_quick:
            return CODE_PROVIDER
        return self._matrix.provider if self._matrix.is_available else ""

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

    def _require_words(self, query: Query, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which of these chunks have every word of the phrases of a question, in any order."""
        for group in query.make_required_groups(self.languages):
            has_word = np.zeros(len(allowed), np.bool_)
            has_word[self._lexical.find_chunks(group)] = True
            allowed = allowed & has_word
        return allowed

    @cached_property
    def _kinds(self) -> set[str]:
        """The kinds of the files in the index."""
        query = "SELECT 1 FROM files WHERE kind = ? LIMIT 1"
        return {kind for kind in HEAD_WEIGHTS if self._connection.execute(query, (kind,)).fetchone() is not None}

    @cached_property
    def _is_code(self) -> npt.NDArray[np.bool_]:
        """Which chunks are code. The chunks of a file have consecutive ids."""
        if len(self._kinds) < 2:
            return np.full(len(self._lexical.chunks), self._kinds == {CODE})
        rows = self._connection.execute(
            "SELECT MIN(chunks.id), MAX(chunks.id) FROM files CROSS JOIN chunks ON file = files.id "
            "WHERE files.kind = ? GROUP BY files.id",
            (CODE,),
        )
        return self._mark_ranges(rows.fetchall())

    def _add_lexical(self, candidates: Candidates, query: Query, allowed: npt.NDArray[np.bool_]) -> None:
        """Add the chunks whose words match best. What headings weigh depends on the kind of the file. It orders chunks
        of code among each other: the best of them has the score that it would have as a document."""
        found, body, head = self._lexical.find(self.find_groups(query))
        if allowed is not self._lexical.alive:
            kept = allowed[found]
            found, body, head = found[kept], body[kept], head[kept]
        is_code = self._is_code[found]
        scores = body + HEAD_WEIGHTS[DOCUMENT] * head
        if is_code.any():
            as_code = body[is_code] + HEAD_WEIGHTS[CODE] * head[is_code]
            scores[is_code] = scale_to(as_code, scores[is_code].max())
        best = candidates.take(scores)
        candidates.add("lexical", found[best], scores[best])

    def _add_dense(
        self, candidates: Candidates, query: Query, allowed: npt.NDArray[np.bool_], filters: Filters
    ) -> None:
        """Add the chunks whose vectors are most similar, and the similarity of those that are candidates already."""
        spec = self._vector_provider(filters)
        provider = self._open_provider(spec)
        [vector] = provider.embed([query.text])
        numbers = candidates.numbers
        is_quick = is_without_model(spec)
        if is_quick and len(numbers) >= (1 if spec.startswith("hash") else _FEW):
            similarity = self._compare(vector, numbers)
        else:
            numbers, similarity = self._compare_all(vector, candidates, allowed, filters)
            if not self._knows_words(query) and not (similarity >= self.noise).any():
                return
            is_known = np.isin(numbers, candidates.numbers, assume_unique=True, kind="table")
            best = np.union1d(candidates.take(similarity), np.flatnonzero(is_known))
            numbers, similarity = numbers[best], similarity[best]
        if is_quick and self._is_code.any():
            code, found = self._embed_code(self._find_words(candidates, query, allowed), provider, vector)
            joined = np.union1d(numbers, code)
            numbers, similarity = joined, spread(joined, numbers, similarity)
            similarity[np.searchsorted(joined, code)] = found
        # Rounded, because the last bits depend on the processor.
        known = ~np.isnan(similarity)
        candidates.add("dense", numbers[known], np.round(similarity[known], 6))

    def _compare(self, vector: npt.NDArray[Any], numbers: Numbers) -> Scores:
        """The similarity of the vectors of these chunks; NaN for a chunk without one."""
        rows = self._matrix_rows[numbers]
        similarity = np.full(len(numbers), np.nan)
        has_row = rows >= 0
        similarity[has_row] = self._matrix.compare(vector, rows[has_row])
        return similarity

    def _compare_all(
        self, vector: npt.NDArray[Any], candidates: Candidates, allowed: npt.NDArray[np.bool_], filters: Filters
    ) -> tuple[Numbers, Scores]:
        """Chunks in ascending order and the similarity of their vectors. Those that are most similar are among them,
        and the candidates."""
        similarity = np.full(len(allowed), np.nan)
        found = np.flatnonzero(allowed)
        similarity[found] = self._compare(vector, found)
        return np.arange(len(allowed)), similarity

    def _find_words(self, candidates: Candidates, query: Query, allowed: npt.NDArray[np.bool_]) -> Candidates:
        """The candidates, or if their words were not searched for, those that this would find."""
        if "lexical" in candidates.lists:
            return candidates
        found = Candidates(candidates.length)
        self._add_lexical(found, query, allowed)
        return found

    def _embed_code(
        self, candidates: Candidates, provider: Any, vector: npt.NDArray[Any]
    ) -> tuple[Numbers, npt.NDArray[Any]]:
        """The best lexical hits in code, in ascending order, and their similarity."""
        is_code = self._is_code[candidates.numbers]
        best = take_best(np.where(is_code, candidates.lists["lexical"], np.nan), _EMBEDDED_MAX)
        numbers = candidates.numbers[best]
        hits = self._read_hits(numbers)
        vectors = provider.embed([describe_code(hits[number]) for number in numbers.tolist()])
        return numbers, compare_rows(vectors, vector)

    @cached_property
    def _matrix_rows(self) -> Numbers:
        """The row of each chunk in the matrix; -1 if it has no vector."""
        rows = np.full(len(self._lexical.chunks), -1, np.int64)
        chunks = self._matrix.chunks
        alive = np.flatnonzero(chunks >= 0)
        rows[np.searchsorted(self._lexical.chunks, chunks[alive])] = alive
        return rows

    def _rank(self, candidates: Candidates, query: Query, count: int, provider: str) -> list[Hit]:
        """Fuse the lists, and adjust the scores of code. Equal scores are in the order of item ids and numbers."""
        if not len(candidates.numbers):
            return []
        lists = dict(candidates.lists)
        shares = lists
        if len(lists) > 1:
            lists["lexical"] = np.nan_to_num(lists["lexical"])
            shares = fuse(lists, {"lexical": 1.0, "dense": dense_weight(provider)})
        total = np.sum(list(shares.values()), axis=0)
        among_code = total
        if len(lists) > 1:
            among_code = total + (code_weight(provider) / dense_weight(provider) - 1) * shares["dense"]
        adjusted, reasons = self._adjust_code(query.text, candidates.numbers, total, among_code)
        factors = self._weigh_documents(query.text, candidates.numbers)
        adjusted = adjusted * factors if len(factors) else adjusted
        if query.notations:
            adjusted = adjusted + self._weigh_notations(query, candidates.numbers, adjusted)
        ranked = self._read_distinct(candidates.numbers, adjusted, count, query)
        for at, hit in ranked:
            hit.score = float(adjusted[at])
            hit.shares = {name: float(share[at]) for name, share in shares.items()}
            if at in reasons:
                hit.shares["code"] = float(adjusted[at] - total[at])
                hit.reasons = reasons[at]
            elif len(factors) and factors[at] != 1:
                hit.shares["kind"] = float(adjusted[at] - total[at])
                hit.reasons = [f"document beside code: x{factors[at]:.2g}"]
            hit.ranks = candidates.list_ranks(at)
        self._mark_weak(candidates, query, ranked)
        return [hit for _, hit in ranked]

    def _weigh_notations(self, query: Query, numbers: Numbers, scores: Scores) -> Scores:
        """What each chunk gains by the words with signs that it has: the best score if the question is nothing else."""
        gains = np.zeros(len(numbers))
        best = take_best(scores, _NOTED_MAX)
        hits = self._read_hits(numbers[best])
        for at in best.tolist():
            gains[at] = scores.max() * query.find_notations(hits[int(numbers[at])].text)
        return gains

    def _mark_weak(self, candidates: Candidates, query: Query, ranked: Sequence[tuple[int, Hit]]) -> None:
        """Mark the hits that have no word of the question, and a vector no more similar than one found by chance."""
        similarity = candidates.lists.get("dense", np.full(len(candidates.numbers), np.nan))
        words = candidates.lists.get("lexical", similarity * 0)
        doubtful = [(at, hit) for at, hit in ranked if not words[at] > 0 and similarity[at] < self.noise]
        if doubtful:
            with_word = self._lexical.find(self.find_groups(query))[0]
            numbers = candidates.numbers[[at for at, _ in doubtful]]
            for (_, hit), has_word in zip(doubtful, np.isin(numbers, with_word).tolist(), strict=True):
                hit.is_weak = not has_word

    def _weigh_documents(self, question: str, numbers: Numbers) -> Scores:
        """The factor of each chunk by what the question is about, if documents stand beside code: see `file_kinds`.
        Empty: they do not."""
        if len(self._kinds) < 2:
            return _ALIKE
        factors = np.where(self._is_code[numbers], 1.0, find_factor(question))
        if not asks_for_changes(question):
            factors[self._mark_changes(numbers)] *= CHANGES
        return factors

    def _mark_changes(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        """Which of these chunks are of lists of changes."""
        return self._lists_changes[numbers]

    @cached_property
    def _lists_changes(self) -> npt.NDArray[np.bool_]:
        """Which chunks are of lists of changes."""
        rows = self._connection.execute(
            "SELECT item_id, MIN(chunks.id), MAX(chunks.id) FROM files CROSS JOIN chunks ON file = files.id "
            "WHERE files.kind = ? GROUP BY files.id",
            (DOCUMENT,),
        )
        return self._mark_ranges([(first, last) for item_id, first, last in rows if lists_changes(item_id)])

    def _mark_ranges(self, ranges: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Which chunks are in one of these ranges of ids, both ends included."""
        marks = np.zeros(len(self._lexical.chunks), np.bool_)
        ends = np.searchsorted(self._lexical.chunks, np.array(ranges, np.int64).reshape(-1, 2))
        for first, last in ends.tolist():
            marks[first : last + 1] = True
        return marks

    def _adjust_code(
        self, question: str, numbers: Numbers, total: Scores, among_code: Scores
    ) -> tuple[Scores, dict[int, list[str]]]:
        """The scores with those of code adjusted, and the reasons for each by its position. `among_code` orders chunks
        of code among each other."""
        positions = np.flatnonzero(self._is_code[numbers]).tolist()
        if not positions:
            return total, {}
        rows = self._read_names(numbers[positions])
        positions.sort(key=lambda at: tuple(rows[int(numbers[at])][:2]))
        defining = self._find_defining({item_id for item_id, *_ in rows.values() if may_only_export(item_id)})
        named = (rows[int(numbers[at])] for at in positions)
        code = [RankedCode(item_id, name, item_id in defining) for item_id, _, name in named]
        found = adjust(question, code, scale_to(among_code[positions], total[positions].max()))
        scores = total.copy()
        scores[positions] = found.scores
        return scores, {at: each for at, each in zip(positions, found.reasons, strict=True) if each}

    def _find_defining(self, items: Collection[str]) -> set[str]:
        """Those of these files that define something, beyond what they export of others."""
        query = (
            "SELECT item_id FROM json_each(?) JOIN files ON item_id = value WHERE EXISTS "
            '(SELECT 1 FROM symbols WHERE file = files.id AND "end" > start AND kind IN '
            "('function', 'method', 'class', 'struct', 'enum', 'trait', 'impl', 'interface'))"
        )
        values = msgspec.json.encode(sorted(items)).decode()
        return {str(item_id) for (item_id,) in self._connection.execute(query, (values,))} if items else set()

    def _read_distinct(self, numbers: Numbers, scores: Scores, count: int, query: Query) -> list[tuple[int, Hit]]:
        """The first `count` chunks with different texts that the question accepts, and their positions. One that
        repeats an earlier one is listed among its copies. Of the chunks of one function there is the best."""
        size = max(2 * count, _READ_MIN)
        while True:
            some = take_best(scores, size)
            hits = self._read_hits(numbers[some])
            ordered = [(at, hits[int(numbers[at])]) for at in some.tolist()]
            ordered.sort(key=lambda each: (-scores[each[0]], each[1].item_id, each[1].number))
            by_text: dict[str, Hit] = {}
            found: list[tuple[int, Hit]] = []
            functions: dict[tuple[str, str], list[Hit]] = {}
            for at, hit in ordered:
                if not query.accepts(hit.text):
                    continue
                first = by_text.setdefault(hit.text, hit)
                if first is not hit:
                    first.copies.append(hit.item_id)
                elif self._is_part_of_any(hit, functions):
                    continue
                elif len(found) < count:
                    found.append((at, hit))
            if len(found) >= count or len(some) == len(numbers):
                return found
            size *= 4

    def _is_part_of_any(self, hit: Hit, functions: dict[tuple[str, str], list[Hit]]) -> bool:
        """Whether a hit is part of a function that another hit is a part of, too. Adds it to these `functions`."""
        if hit.kind not in _FUNCTIONS or not hit.name:
            return False
        others = functions.setdefault((hit.item_id, hit.name), [])
        others.append(hit)
        if len(others) == 1:
            return False
        starts = [self._find_definition(each) for each in others]
        return starts[-1] in starts[:-1]

    def _find_definition(self, hit: Hit) -> int:
        """The line in which the definition begins that a hit is part of."""
        query = (
            "SELECT MAX(start) FROM symbols JOIN files ON files.id = file "
            'WHERE item_id = ? AND qualified = ? AND start <= ? AND "end" >= ?'
        )
        [start] = self._connection.execute(query, (hit.item_id, hit.name, hit.end, hit.start)).fetchone()
        return hit.start if start is None else int(start)

    def read_neighbours(self, hit: Hit, count: int) -> tuple[list[str], list[str]]:
        """The texts of the chunks before and after a hit in its file, up to `count` of each."""
        query = (
            "SELECT number, chunks.text FROM chunks JOIN files ON files.id = file "
            "WHERE item_id = ? AND number BETWEEN ? AND ? ORDER BY number"
        )
        rows = self._connection.execute(query, (hit.item_id, hit.number - count, hit.number + count)).fetchall()
        return split_neighbours(rows, hit.number)

    def _read_hits(self, numbers: Numbers) -> dict[int, Hit]:
        """The chunks with these numbers, by number."""
        return {number: make_hit(row) for number, row in self._select(HIT_COLUMNS, numbers)}

    def _read_names(self, numbers: Numbers) -> dict[int, Sequence[Any]]:
        """The item id, the number in the file and the name of each of these chunks, by number."""
        return dict(self._select("item_id, chunks.number, chunks.name", numbers))

    def _select(self, columns: str, numbers: Numbers) -> Iterator[tuple[int, Sequence[Any]]]:
        wanted = dict(zip(self._lexical.chunks[numbers].tolist(), numbers.tolist(), strict=True))
        ids = list(wanted)
        for start in range(0, len(ids), _PARAMETERS_MAX):
            some = ids[start : start + _PARAMETERS_MAX]
            rows = self._connection.execute(
                f"SELECT chunks.id, {columns} FROM chunks JOIN files ON files.id = file "
                f"WHERE chunks.id IN ({', '.join('?' * len(some))})",
                some,
            )
            found = rows.fetchall()
            if len(found) != len(some):
                raise DamagedIndexError("chunks that the inverted index names are missing")
            for id_, *row in found:
                yield wanted[id_], row

    def _open_provider(self, spec: str) -> Any:
        if spec not in self._providers:
            if needs_trust(spec):
                require_trusted(self._data, "dense", spec)
            self._providers[spec] = open_question_provider(spec)
        return self._providers[spec]

    def check_filters(self, filters: Filters) -> None:
        """Raise OperatorError for a language or a kind that nothing in the index has."""
        for name, table in (("language", "files"), ("kind", "chunks")):
            values, _ = filters.split(name)
            known = self._list_values(name, table) if values else []
            for value in values:
                if value in known:
                    continue
                similar = "".join(f"; did you mean {word}?" for word in _find_similar(value, known, 1))
                listed = f"; there is: {', '.join(known)}" if known and not similar else ""
                raise OperatorError(f"nothing in the index has {name} {value!r}{similar}{listed}")

    def _list_values(self, name: str, table: str) -> list[str]:
        rows = self._connection.execute(f"SELECT DISTINCT {name} FROM {table} WHERE {name} != '' ORDER BY {name}")
        return [str(found) for (found,) in rows]

    def suggest_words(self, query: Query) -> list[str]:
        """Words of the index that are similar to those words of the question that it does not have."""
        groups = query.make_groups(self.languages)
        found: list[str] = []
        for term in dict.fromkeys(group.forms[0] for group in groups if not self._lexical.has_any(group)):
            known = self._connection.execute(
                "SELECT DISTINCT name FROM symbols JOIN files ON files.id = file "
                "WHERE name LIKE ? AND length(name) BETWEEN ? AND ? ORDER BY name LIMIT 5000",
                (f"{term[:1]}%", len(term) - 2, len(term) + 2),
            )
            names = {str(name).lower() for (name,) in known}
            words = names | self._lexical.find_similar_terms(term[:1], len(term) - 3, len(term) + 2)
            similar = _find_similar(term, sorted(words - {term}), len(words) or 1)
            alive = (word for word in similar if word in names or self._lexical.has_any(TermGroup((word,))))
            found += islice(alive, _SUGGESTED)
        return list(dict.fromkeys(found))


def split_neighbours(rows: Sequence[Sequence[Any]], number: int) -> tuple[list[str], list[str]]:
    """The texts of chunks before and after the one with this number, from numbers and texts in order."""
    return [text for at, text in rows if at < number], [text for at, text in rows if at > number]


def _find_similar(word: str, known: Sequence[str], count: int, share_min: float = _SIMILAR_MIN) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, known, n=count, cutoff=share_min)


def is_without_model(spec: str) -> bool:
    """Whether this provider is fast enough to make vectors during a search."""
    return dense_weight(spec) < MODEL_WEIGHT
