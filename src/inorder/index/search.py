"""Search for chunks: lexical, dense, or both.

* `lexical`: BM25 over names, contexts, parts of identifiers and texts. A match in a name weighs most.
* `dense`: the vector of the question against those of the documents. Chunks of code have no stored vectors. If the
  provider needs no model, the lexical hits in code are embedded during the search.
* `hybrid`: reciprocal rank fusion of both lists. A chunk scores weight / (60 + rank) for each list it is in. Both lists
  have the same weight, except that vectors without a model weigh a fifth: they know only words and spellings, which
  lexical search knows better.

Chunks of equal score are ordered by item id and number, so an answer does not depend on how the index was built.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.documents.embed.providers.registry import open_dense
from inorder.errors import IntegrityError, OperatorError

from .query import Query
from .rows import CODE
from .vectors import VectorMatrix

MODES = ("hybrid", "lexical", "dense")
LIST_MAX = 200
"""Length of each list before fusion."""
RANK_OFFSET = 60
"""The constant of reciprocal rank fusion."""
HASH_WEIGHT = 0.2
"""Weight of the dense list if the vectors come without a model."""
_BM25 = "bm25(lookup, 8.0, 3.0, 3.0, 1.0)"
_COLUMNS = (
    'chunk_id, number, chunks.kind, chunks.name, chunks.context, start, "end", chunks.text, item_id, files.kind, '
    "location(files.kind, item_id, path), language"
)


class Filters(NamedTuple):
    """Conditions that a chunk must meet."""

    path: str = ""
    """A glob over paths as answers show them, or over item ids."""
    language: str = ""
    kind: str = ""
    """Kind of the chunk: function, class, section..."""
    only: str = ""
    """`code` or `document`."""

    def sql(self) -> tuple[str, list[str]]:
        """The conditions in SQL, and the values of their placeholders."""
        conditions = (
            ("(item_id GLOB ? OR location(files.kind, item_id, path) GLOB ?)", [self.path] * 2),
            ("language = ?", [self.language]),
            ("chunks.kind = ?", [self.kind]),
            ("files.kind = ?", [self.only]),
        )
        active = [(condition, values) for condition, values in conditions if values[0]]
        sql = "".join(f" AND {condition}" for condition, _ in active)
        return sql, [value for _, values in active for value in values]


class Hit(msgspec.Struct, kw_only=True):
    """A chunk that matches, and why."""

    chunk_id: str
    item_id: str
    path: str
    """As seen from the current folder."""
    file_kind: str
    """`code` or `document`."""
    language: str
    kind: str
    name: str
    context: str
    start: int
    end: int
    number: int
    text: str
    score: float = 0.0
    ranks: dict[str, int] = {}
    """Its rank in each list, from 1."""
    shares: dict[str, float] = {}
    """What each list contributes to the score."""


class Searcher:
    """Answers queries from one index."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self._connection = connection
        self._matrix = VectorMatrix(connection, data)
        self._provider: Any = None

    def search(self, query: Query, mode: str, count: int, filters: Filters) -> list[Hit]:
        """The `count` best chunks. Hybrid search does without vectors that are not there: see `warning`."""
        if mode == "dense" and self._matrix.problem:
            raise IntegrityError(self._matrix.problem)
        if mode == "dense" and not self._matrix.is_available:
            raise OperatorError("the index has no dense vectors: run `inorder embed` and `inorder index`")
        lists: dict[str, list[Hit]] = {}
        if mode != "dense":
            lists["lexical"] = self._search_lexical(query, filters)
        if mode != "lexical" and self._matrix.is_available:
            lists["dense"] = self._search_dense(query, filters, lists.get("lexical", []))
        return _fuse(lists, self.weights(), count)

    @property
    def warning(self) -> str:
        """Why hybrid search has only words to go by, although the index was made with vectors; empty if it does not."""
        return f"hybrid search uses words only: {self._matrix.problem}" if self._matrix.problem else ""

    def weights(self) -> dict[str, float]:
        """The weight of each list in the fusion."""
        return {"lexical": 1.0, "dense": HASH_WEIGHT if self._is_without_model else 1.0}

    @property
    def _is_without_model(self) -> bool:
        return self._matrix.provider.startswith("hash")

    def _search_lexical(self, query: Query, filters: Filters) -> list[Hit]:
        conditions, values = filters.sql()
        if conditions:
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM lookup JOIN chunks ON chunks.id = lookup.rowid JOIN files ON files.id = file "
                f"WHERE lookup MATCH ?{conditions} ORDER BY {_BM25}, item_id, number LIMIT {LIST_MAX}",
                [query.match_expression, *values],
            )
        else:
            found = self._connection.execute(
                f"WITH matches AS MATERIALIZED (SELECT rowid AS chunk, {_BM25} AS score FROM lookup "
                f"WHERE lookup MATCH ?) SELECT {_COLUMNS} FROM matches "
                "JOIN chunks ON chunks.id = chunk JOIN files ON files.id = file "
                f"WHERE score <= (SELECT MAX(score) FROM (SELECT score FROM matches ORDER BY score LIMIT {LIST_MAX})) "
                f"ORDER BY score, item_id, number LIMIT {LIST_MAX}",
                [query.match_expression],
            )
        return [_make_hit(row) for row in found]

    def _search_dense(self, query: Query, filters: Filters, lexical: Sequence[Hit]) -> list[Hit]:
        provider = self._open_provider()
        vector = provider.embed([query.text])[0]
        conditions, values = filters.sql()
        # A filter may reject most of the nearest, so take more of them.
        nearest = self._matrix.find_nearest(vector, LIST_MAX * (20 if conditions else 1))
        near: list[tuple[float, Hit]] = []
        for row, score in nearest:
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM vectors JOIN chunks ON chunks.id = chunk JOIN files ON files.id = file "
                f"WHERE row = ?{conditions}",
                [row, *values],
            ).fetchone()
            if found is not None:
                near.append((score, _make_hit(found)))
            if len(near) == LIST_MAX:
                break
        if self._is_without_model:
            unembedded = [hit for hit in lexical if hit.file_kind == CODE]
            if unembedded:
                scores = provider.embed([f"{hit.name} {hit.text}" for hit in unembedded]) @ vector
                near += zip(map(float, scores), unembedded, strict=True)
        near.sort(key=lambda each: (-each[0], each[1].item_id, each[1].number))
        return [hit for _, hit in near[:LIST_MAX]]

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
            words = {str(name).lower() for (name,) in known} | self._find_similar_words(term)
            found += _find_similar(term, sorted(words), 2)
        return list(dict.fromkeys(found))

    def _find_similar_words(self, term: str) -> set[str]:
        """Words of the texts with the first letter of the term and about its length."""
        self._connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab (main, lookup, row)")
        rows = self._connection.execute(
            "SELECT term FROM temp.stems WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (term[:1], term[:1] + "\U0010ffff", len(term) - 3, len(term) + 2),
        )
        return {str(stem) for (stem,) in rows}


def _find_similar(word: str, known: Sequence[str], count: int) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, known, n=count, cutoff=0.75)


def _make_hit(row: Sequence[Any]) -> Hit:
    chunk_id, number, kind, name, context, start, end, text, item_id, file_kind, path, language = row
    return Hit(
        chunk_id=chunk_id,
        item_id=item_id,
        path=path,
        file_kind=file_kind,
        language=language,
        kind=kind,
        name=name,
        context=context,
        start=start,
        end=end,
        number=number,
        text=text,
    )


def _fuse(lists: dict[str, list[Hit]], weights: dict[str, float], count: int) -> list[Hit]:
    found: dict[str, Hit] = {}
    for name, hits in lists.items():
        for rank, hit in enumerate(hits, 1):
            known = found.setdefault(hit.chunk_id, hit)
            known.ranks = {**known.ranks, name: rank}
            known.shares = {**known.shares, name: weights[name] / (RANK_OFFSET + rank)}
            known.score = sum(known.shares.values())
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.item_id, hit.number))[:count]
