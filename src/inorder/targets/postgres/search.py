"""Search in an export: the ranking of `inorder.index`, over rows that the server finds.

The server returns every chunk that has a term of the question, with the counts of these terms, and the chunks with the
most similar vectors. Everything else is computed as for a local index, from the same numbers: so the answers are the
same up to the rounding of similarities, and up to what an HNSW index leaves out.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from psycopg import sql

from inorder.errors import InfrastructureError, OperatorError, require
from inorder.index.hits import Filters, Hit, make_hit
from inorder.index.lexical.scoring import LexicalIndex, Occurrences, TermGroup, make_norms
from inorder.index.query import Query, parse_query
from inorder.index.ranking.candidates import LIST_MAX, Candidates, Numbers
from inorder.index.ranking.file_kinds import lists_changes
from inorder.index.ranking.fusion import Scores
from inorder.index.ranking.retrieval import Searcher, is_without_model, split_neighbours
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.search import SearchAnswer, SearchOptions, answer_from
from inorder.index.vectors.matrix import VectorMatrix

from .connection import Connection, ServerGone, connect, translate_errors
from .encoding import HEAD_UNIT
from .schema import check_collection, compose, read_meta, read_version

_HIT = """
SELECT chunk_id::text, chunks.doc_id, chunks.doc_id, documents.kind, language, chunks.kind, name, context, start_at,
    end_at, chunks.number, array_to_string(pages, ' '), text
FROM {schema}.chunks JOIN {schema}.documents USING (doc_id)
JOIN unnest(%s::text[], %s::integer[]) AS wanted (doc_id, number) USING (doc_id, number)
"""
"""The columns of `make_hit`: an export knows no paths."""
_NAMES = """
SELECT doc_id, number, name FROM {schema}.chunks
JOIN unnest(%s::text[], %s::integer[]) AS wanted (doc_id, number) USING (doc_id, number)
"""
_NEIGHBOURS = """
SELECT number, text FROM {schema}.chunks WHERE doc_id = %s AND number BETWEEN %s AND %s ORDER BY number
"""
_SIMILARITY = """
SELECT doc_id, number, -(embedding <#> %s::vector) FROM {schema}.chunks
JOIN unnest(%s::text[], %s::integer[]) AS wanted (doc_id, number) USING (doc_id, number) WHERE embedding IS NOT NULL
"""
_STATIC_NOISE = 0.4
Key = tuple[str, int]
"""The id of a document, and the number of a chunk in it."""


def search(address: str, collection: str, question: str, options: SearchOptions) -> SearchAnswer:
    """Answer a question from an export. Raises OperatorError for a question or a place that cannot be used, and
    InfrastructureError if the server fails."""
    check_collection(collection)
    query = parse_query(question)
    require(query.kind == "text", f"{query.kind}: needs the index in DATA; a database has no symbols")
    try:
        with closing(connect(address)) as connection, translate_errors(address, "it cannot be searched"):
            connection.execute("SET default_transaction_isolation = 'repeatable read'")
            with connection.transaction():
                if read_version(connection, address, collection) is None:
                    raise OperatorError(f"{address}: no schema {collection} of an export; run `inorder export` first")
                return answer_from(PostgresSearcher(connection, collection, address), query, options)
    except ServerGone as error:
        raise InfrastructureError(f"{address}: the connection was lost ({error}); ask again") from None


class _ServerVectors(VectorMatrix):
    """The vectors on the server, as far as a searcher asks before it compares them."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.problem = ""
        self.is_available = bool(provider)

    def check(self) -> None:
        pass

    def is_current(self) -> bool:
        return True


class PostgresSearcher(Searcher):
    """Answers one query from one export. The chunks that the server returns are numbered as they come."""

    def __init__(self, connection: Connection, collection: str, address: str) -> None:
        self._server = connection
        self._data = address
        self._collection = collection
        has_vectors = bool(read_meta(connection, collection, "dimensions"))
        self._matrix = _ServerVectors(read_meta(connection, collection, "provider") if has_vectors else "")
        self._providers = {}
        self._keys: list[Key] = []
        self._found = _FoundTerms.make_empty()
        self._required: list[TermGroup] = []
        """The words of phrases, which a chunk must have."""

    def search(self, query: Query, mode: str, count: int, filters: Filters) -> list[Hit]:
        """The `count` best chunks."""
        self._required = query.make_required_groups(self.languages)
        self._found = found = self._find_terms(self.find_groups(query), filters)
        self._keys = list(found.keys)
        self._numbers = {key: number for number, key in enumerate(self._keys)}
        self._is_code = found.is_code
        self._lexical = found.lexical
        return super().search(query, mode, count, filters)

    @cached_property
    def languages(self) -> dict[str, int]:
        """The languages of the documents in the export, and the number of documents in each."""
        query = (
            "SELECT language, count(*) FROM {schema}.documents WHERE kind = %s AND language != '' "
            "GROUP BY language ORDER BY language"
        )
        return {str(language): count for language, count in self._execute(query, DOCUMENT)}

    @cached_property
    def _kinds(self) -> set[str]:
        return {str(kind) for (kind,) in self._execute("SELECT DISTINCT kind FROM {schema}.documents")}

    def find_groups(self, query: Query) -> list[TermGroup]:
        """Whole words: to ask for their beginnings would take another query."""
        return query.make_groups(self.languages)

    def _knows_words(self, query: Query) -> bool:
        return bool(self._keys)

    @cached_property
    def noise(self) -> float:
        """What words that mean nothing reach with vectors that are made without a model; 0 with others: it would take
        a query for each."""
        return _STATIC_NOISE if is_without_model(self._matrix.provider) else 0.0

    def _find_allowed(self, filters: Filters) -> npt.NDArray[np.bool_]:
        return self._found.is_allowed

    def _require_words(self, query: Query, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """All of these: the server has looked for the words."""
        return allowed

    def _translate(self, filters: Filters) -> tuple[str, list[Any]]:
        """What a chunk must meet in SQL, over `documents`, `terms` and, for a kind, `chunks`; and its values."""
        conditions, values = translate_filters(filters)
        parts = [*([conditions] if conditions else []), *("terms.terms && %s" for _ in self._required)]
        return " AND ".join(parts), [*values, *(list(group.forms) for group in self._required)]

    def _find_terms(self, groups: Sequence[TermGroup], filters: Filters) -> "_FoundTerms":
        """Every chunk that has a term of the question."""
        forms = list(dict.fromkeys((form, group.is_prefix) for group in groups for form in group.forms))
        conditions, values = self._translate(filters)
        chunks = "JOIN {schema}.chunks USING (doc_id, number)" if filters.kind else ""
        counts = [_PREFIX_COUNT if is_prefix else _EXACT_COUNT for _, is_prefix in forms]
        exact = [form for form, is_prefix in forms if not is_prefix]
        matches = ["terms && %s"] if exact else []
        matches += [_PREFIX_MATCH for _, is_prefix in forms if is_prefix]
        query = (
            f"SELECT terms.doc_id, terms.number, documents.kind = '{CODE}', {conditions or 'true'}, body_length, "
            f"head_length, {', '.join(counts)} FROM {{schema}}.terms JOIN {{schema}}.documents USING (doc_id) "
            f"{chunks} WHERE {' OR '.join(matches)}"
        )
        parameters = [*values, *(form for form, _ in forms), *([exact] if exact else [])]
        parameters += [form for form, is_prefix in forms if is_prefix]
        rows = self._execute(query, *parameters)
        [totals] = self._execute(
            "SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(body_terms), 0)::bigint, "
            "coalesce(sum(head_terms), 0)::bigint FROM {schema}.documents"
        )
        return _FoundTerms.make(rows, forms, totals)

    def _compare(self, vector: npt.NDArray[Any], numbers: Numbers) -> Scores:
        similarity = np.full(len(numbers), np.nan)
        if self._matrix.is_available and len(numbers):
            places = {self._keys[number]: at for at, number in enumerate(numbers.tolist())}
            for doc_id, number, found in self._execute(_SIMILARITY, _format_vector(vector), *_split_keys(places)):
                similarity[places[doc_id, number]] = found
        return similarity

    def _compare_all(
        self, vector: npt.NDArray[Any], candidates: Candidates, allowed: npt.NDArray[np.bool_], filters: Filters
    ) -> tuple[Numbers, Scores]:
        numbers = candidates.numbers
        similarity = dict(zip(numbers.tolist(), self._compare(vector, numbers).tolist(), strict=True))
        for key, found in self._find_similar(vector, candidates, filters) if self._matrix.is_available else ():
            similarity[self._number(key)] = found
        ordered = np.array(sorted(similarity), np.int64)
        return ordered, np.array([similarity[number] for number in ordered.tolist()], np.float64)

    def _find_similar(
        self, vector: npt.NDArray[Any], candidates: Candidates, filters: Filters
    ) -> list[tuple[Key, float]]:
        """The chunks with the most similar vectors. An HNSW index is used if there is one and no condition: it looks at
        conditions too late, and is of no use for longer lists."""
        conditions, values = self._translate(filters)
        uses_index = not conditions and candidates.length <= LIST_MAX
        self._server.execute(f"SET LOCAL enable_indexscan = {'on' if uses_index else 'off'}")
        if self._server.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is not None:
            self._server.execute("SELECT '[1]'::vector")  # loads the library, which defines the setting
            self._server.execute(f"SET LOCAL hnsw.ef_search = {LIST_MAX}")
        terms = "JOIN {schema}.terms USING (doc_id, number)" if self._required else ""
        query = (
            "SELECT chunks.doc_id, chunks.number, -(embedding <#> %s::vector) FROM {schema}.chunks "
            f"JOIN {{schema}}.documents USING (doc_id) {terms} WHERE embedding IS NOT NULL AND {conditions or 'true'} "
            f"ORDER BY embedding <#> %s::vector LIMIT {candidates.length}"
        )
        text = _format_vector(vector)
        rows = self._execute(query, text, *values, text)
        self._server.execute("SET LOCAL enable_indexscan = on")
        candidates.is_cut |= len(rows) == candidates.length
        return [((doc_id, number), similarity) for doc_id, number, similarity in rows]

    def _number(self, key: Key) -> int:
        """The number of a chunk. One that the terms have not found gets the next one; it is part of a document."""
        if key not in self._numbers:
            self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self._is_code = np.append(self._is_code, False)
        return self._numbers[key]

    def _read_hits(self, numbers: Numbers) -> dict[int, Hit]:
        keys = [self._keys[number] for number in numbers.tolist()]
        hits = [make_hit(row) for row in self._execute(_HIT, *_split_keys(keys))]
        return {self._numbers[hit.item_id, hit.number]: hit for hit in hits}

    def _read_names(self, numbers: Numbers) -> dict[int, Sequence[Any]]:
        rows = self._execute(_NAMES, *_split_keys([self._keys[number] for number in numbers.tolist()]))
        return {self._numbers[doc_id, number]: (doc_id, number, name) for doc_id, number, name in rows}

    def _find_defining(self, items: Collection[str]) -> set[str]:
        """None: what files define is not exported."""
        return set()

    def _mark_changes(self, numbers: Numbers) -> npt.NDArray[np.bool_]:
        return np.array([lists_changes(self._keys[number][0]) for number in numbers.tolist()], np.bool_)

    def _find_definition(self, hit: Hit) -> int:
        """An export has no definitions: each part of a function is a hit."""
        return hit.start

    def read_neighbours(self, hit: Hit, count: int) -> tuple[list[str], list[str]]:
        rows = self._execute(_NEIGHBOURS, hit.item_id, hit.number - count, hit.number + count)
        return split_neighbours(rows, hit.number)

    def _list_values(self, name: str, table: str) -> list[str]:
        place = "documents" if table == "files" else table
        rows = self._execute(f"SELECT DISTINCT {name} FROM {{schema}}.{place} WHERE {name} != '' ORDER BY {name}")
        return [str(value) for (value,) in rows]

    def suggest_words(self, query: Query) -> list[str]:
        """None: an export has no list of its words."""
        return []

    def _execute(self, template: str, *values: Any) -> list[tuple[Any, ...]]:
        query: sql.Composed = compose(template, self._collection)
        return self._server.cursor(binary=True).execute(query, values).fetchall()


_EXACT_COUNT = "coalesce(counts[array_position(terms, %s)], 0)::bigint"
_PREFIX_COUNT = f"""coalesce((
    SELECT sum((count %% {HEAD_UNIT}) + ((count / {HEAD_UNIT})::bigint << 32))
    FROM unnest(terms, counts) AS each (term, count) WHERE starts_with(term, %s)), 0)::bigint"""
_PREFIX_MATCH = "EXISTS (SELECT 1 FROM unnest(terms) AS each (term) WHERE starts_with(term, %s))"


class _FoundTerms(NamedTuple):
    """The chunks that have a term of a question."""

    keys: Sequence[Key]
    is_code: npt.NDArray[np.bool_]
    is_allowed: npt.NDArray[np.bool_]
    lexical: "_FoundIndex"

    @classmethod
    def make(
        cls, rows: Sequence[Sequence[Any]], forms: Sequence[tuple[str, bool]], totals: Sequence[int]
    ) -> "_FoundTerms":
        """From the rows of the server, the forms that their last columns count, and the sums over all chunks."""
        table = np.array([row[4:] for row in rows], np.int64).reshape(len(rows), 2 + len(forms))
        counts = {}
        for at, (form, is_prefix) in enumerate(forms, 2):
            unit = 2**32 if is_prefix else HEAD_UNIT
            counts[form, is_prefix] = (table[:, at] % unit, table[:, at] // unit)
        return cls(
            [(row[0], row[1]) for row in rows],
            np.array([row[2] for row in rows], np.bool_),
            np.array([row[3] for row in rows], np.bool_),
            _FoundIndex(table[:, 0], table[:, 1], counts, totals),
        )

    @classmethod
    def make_empty(cls) -> "_FoundTerms":
        return cls.make([], [], (0, 0, 0))


class _FoundIndex(LexicalIndex):
    """The chunks of one query as an inverted index, with the statistics of all chunks."""

    def __init__(
        self,
        body_lengths: Numbers,
        head_lengths: Numbers,
        counts: dict[tuple[str, bool], tuple[Numbers, Numbers]],
        totals: Sequence[int],
    ) -> None:
        self.chunks = np.arange(len(body_lengths))
        self.alive = np.ones(len(body_lengths), np.bool_)
        self._count = count = totals[0]
        self._counts = counts
        sums = ((body_lengths, totals[1]), (head_lengths, totals[2]))
        self._norms = [make_norms(lengths, total / max(1, count)) for lengths, total in sums]

    def _read_group(self, group: TermGroup) -> tuple[Numbers, Occurrences, Occurrences]:
        body, head = np.zeros(len(self.chunks)), np.zeros(len(self.chunks))
        for form in group.forms:
            found = self._counts[form, group.is_prefix]
            body, head = body + found[0], head + found[1]
        numbers = np.flatnonzero(body + head)
        return numbers, body[numbers], head[numbers]


_TESTS = {
    "path": ("documents.doc_id ~ %s", 1),
    "language": ("documents.language = %s", 1),
    "kind": ("chunks.kind = %s", 1),
    "only": ("documents.kind = %s", 1),
    "type": ("right(lower(documents.doc_id), length(%s)) = %s", 2),
    "source": ("starts_with(documents.doc_id, %s)", 1),
}


def translate_filters(filters: Filters) -> tuple[str, list[str]]:
    """The conditions in the SQL of the server, and the values of their placeholders."""
    wanted, excluded = filters.split("path")
    globs = [*map(translate_glob, wanted), *(f"!{translate_glob(pattern)}" for pattern in excluded)]
    conditions, values = filters._replace(path=globs).translate(_TESTS)
    return conditions.removeprefix(" AND "), values


def translate_glob(pattern: str) -> str:
    """A glob of SQLite as a regular expression of the server."""
    parts = re.findall(r"\[\^?\]?[^\]]*\]|.", pattern, re.DOTALL)
    special = {"*": ".*", "?": "."}
    return f"^{''.join(special.get(part) or (part if len(part) > 1 else re.escape(part)) for part in parts)}$"


def _split_keys(keys: Sequence[Key] | dict[Key, int]) -> tuple[list[str], list[int]]:
    return [doc_id for doc_id, _ in keys], [number for _, number in keys]


def _format_vector(vector: npt.NDArray[Any]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"
