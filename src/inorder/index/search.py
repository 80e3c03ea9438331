"""Finding chunks: by words, by vectors, or by both.

* `lexical`: BM25 over names, contexts, parts of identifiers and texts; a name counts most.
* `dense`: the vector of the question against those of the documents. Chunks of code have none; with a provider that
  needs no model, those that the words have found get theirs on the spot.
* `hybrid`: both lists, fused by rank: a chunk has weight / (60 + rank) of each list it is in. Both weigh the same, but
  for vectors without a model: those know words and spellings only, which the words know better, and weigh a fifth.

Equal ones come in the order of path and place, so an answer does not depend on how the index was made.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.documents.embed.providers.registry import open_dense
from inorder.errors import OperatorError

from .query import Query
from .vectors import Matrix

MODES = ("hybrid", "lexical", "dense")
DEPTH = 200
"""Candidates of each list."""
FUSED = 60
HASH_WEIGHT = 0.2
_BM25 = "bm25(lookup, 8.0, 3.0, 3.0, 1.0)"
_COLUMNS = (
    'chunk_id, number, chunks.kind, chunks.name, chunks.context, start, "end", chunks.text, item_id, files.kind, path, '
    "language"
)


class Filters(NamedTuple):
    """Which chunks are wanted at all."""

    path: str = ""
    """A glob over the names of files."""
    language: str = ""
    kind: str = ""
    """Of the chunk: function, class, section..."""
    only: str = ""
    """`code` or `document`."""

    def sql(self) -> tuple[str, list[str]]:
        """As conditions, and what fills them."""
        wanted = (
            ("item_id GLOB ?", self.path),
            ("language = ?", self.language),
            ("chunks.kind = ?", self.kind),
            ("files.kind = ?", self.only),
        )
        conditions = [condition for condition, value in wanted if value]
        return "".join(f" AND {condition}" for condition in conditions), [value for _, value in wanted if value]


class Hit(msgspec.Struct, kw_only=True):
    """One chunk that was found."""

    chunk_id: str
    item_id: str
    path: str
    only: str
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
    """Its place in each list, from 1."""
    shares: dict[str, float] = {}
    """What each of them gives to the score."""


class Searcher:
    """Answers questions from one index."""

    def __init__(self, connection: sqlite3.Connection, data: str) -> None:
        self._connection = connection
        self._matrix = Matrix(connection, data)
        self._provider: Any = None

    def search(self, query: Query, mode: str, count: int, filters: Filters) -> list[Hit]:
        """The best, at most so many."""
        if mode == "dense" and not self._matrix.is_there:
            raise OperatorError("the index has no vectors: run `inorder embed` and `inorder index`, or ask lexically")
        lists: dict[str, list[Hit]] = {}
        if mode != "dense":
            lists["lexical"] = self._lexical(query, filters)
        if mode != "lexical" and self._matrix.is_there:
            lists["dense"] = self._dense(query, filters, lists.get("lexical", []))
        return _fused(lists, self.weights(), count)

    def weights(self) -> dict[str, float]:
        """What each list counts."""
        return {"lexical": 1.0, "dense": HASH_WEIGHT if self._has_no_model else 1.0}

    @property
    def _has_no_model(self) -> bool:
        return self._matrix.provider.startswith("hash")

    def _lexical(self, query: Query, filters: Filters) -> list[Hit]:
        conditions, values = filters.sql()
        if conditions:
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM lookup JOIN chunks ON chunks.id = lookup.rowid JOIN files ON files.id = file "
                f"WHERE lookup MATCH ?{conditions} ORDER BY {_BM25}, item_id, number LIMIT {DEPTH}",
                [query.match, *values],
            )
        else:
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM (SELECT rowid AS place, {_BM25} AS score FROM lookup WHERE lookup MATCH ? "
                f"ORDER BY score LIMIT {DEPTH}) JOIN chunks ON chunks.id = place JOIN files ON files.id = file "
                "ORDER BY score, item_id, number",
                [query.match],
            )
        return [_hit(row) for row in found]

    def _dense(self, query: Query, filters: Filters, lexical: Sequence[Hit]) -> list[Hit]:
        provider = self._opened()
        vector = provider.embed([query.said])[0]
        conditions, values = filters.sql()
        # A filter may leave few of the nearest: look deeper then.
        nearest = self._matrix.nearest(vector, DEPTH * (20 if conditions else 1))
        near: list[tuple[float, Hit]] = []
        for row, score in nearest:
            found = self._connection.execute(
                f"SELECT {_COLUMNS} FROM vectors JOIN chunks ON chunks.id = chunk JOIN files ON files.id = file "
                f"WHERE row = ?{conditions}",
                [row, *values],
            ).fetchone()
            if found is not None:
                near.append((score, _hit(found)))
            if len(near) == DEPTH:
                break
        if self._has_no_model:
            without = [hit for hit in lexical if hit.only == "code"]
            if without:
                scores = provider.embed([f"{hit.name} {hit.text}" for hit in without]) @ vector
                near += zip(map(float, scores), without, strict=True)
        near.sort(key=lambda each: (-each[0], each[1].item_id, each[1].number))
        return [hit for _, hit in near[:DEPTH]]

    def _opened(self) -> Any:
        if self._provider is None:
            self._provider = open_dense(self._matrix.provider)
        return self._provider

    def suggestions(self, query: Query) -> list[str]:
        """Words of the index that look like those of the question."""
        from difflib import get_close_matches

        found: list[str] = []
        for term in query.terms:
            known = self._connection.execute(
                "SELECT DISTINCT name FROM symbols WHERE name LIKE ? AND length(name) BETWEEN ? AND ? LIMIT 5000",
                (f"{term[:1]}%", len(term) - 2, len(term) + 2),
            )
            words = {str(name).lower() for (name,) in known} | self._words(term)
            found += get_close_matches(term, sorted(words), n=2, cutoff=0.75)
        return list(dict.fromkeys(found))

    def _words(self, term: str) -> set[str]:
        """Whole words of texts that begin as the term does."""
        self._connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab (main, lookup, row)")
        rows = self._connection.execute(
            "SELECT term FROM temp.stems WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (term[:1], term[:1] + "\U0010ffff", len(term) - 3, len(term) + 2),
        )
        return {str(stem) for (stem,) in rows}


def _hit(row: Sequence[Any]) -> Hit:
    chunk_id, number, kind, name, context, start, end, text, item_id, only, path, language = row
    return Hit(
        chunk_id=chunk_id,
        item_id=item_id,
        path=path,
        only=only,
        language=language,
        kind=kind,
        name=name,
        context=context,
        start=start,
        end=end,
        number=number,
        text=text,
    )


def _fused(lists: dict[str, list[Hit]], weights: dict[str, float], count: int) -> list[Hit]:
    found: dict[str, Hit] = {}
    for name, hits in lists.items():
        for rank, hit in enumerate(hits, 1):
            known = found.setdefault(hit.chunk_id, hit)
            known.ranks = {**known.ranks, name: rank}
            known.shares = {**known.shares, name: weights[name] / (FUSED + rank)}
            known.score = sum(known.shares.values())
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.item_id, hit.number))[:count]
