"""Search: hits with snippets, and what a search can be restricted to."""

import sqlite3
from collections.abc import Iterator
from threading import Lock
from typing import Annotated, Literal

import msgspec

from inorder.index.hits import Hit
from inorder.index.ranking.snippets import SnippetLine, cut
from inorder.index.search import SearchAnswer, SearchOptions, search, use_index
from inorder.index.symbols import CodeLocation
from inorder.index.text_lines import find_best_line
from inorder.library.opening import find_index
from inorder.serve.catalog import Catalog
from inorder.serve.options import HITS_MAX, QUESTION_CHARACTERS_MAX

from .endpoint import DataParams

_LINE_CHARACTERS_MAX = 400
_FACETS_MAX = 40
_TITLES_MAX = 200
_NAMES_MAX = 100
_WORDS_MAX = 6
_CONDITIONS_MAX = 50
_REPEATED = "May be repeated: one of the values must be met. One that begins with `!` must not be met."
_Conditions = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=1000)]],
    msgspec.Meta(max_length=_CONDITIONS_MAX, description=_REPEATED),
]


class SearchParams(DataParams, frozen=True, kw_only=True):
    """A question and its conditions."""

    q: Annotated[
        str,
        msgspec.Meta(
            max_length=QUESTION_CHARACTERS_MAX,
            description="Words; or a name: sym:NAME, def:NAME, ref:NAME, imports:NAME.",
        ),
    ]
    k: Annotated[int, msgspec.Meta(ge=1, le=HITS_MAX, description="Number of hits.")] = 10
    mode: Literal["auto", "hybrid", "lexical", "dense"] = "auto"
    path: _Conditions = msgspec.field(default_factory=list)
    """Globs over paths."""
    language: _Conditions = msgspec.field(default_factory=list)
    kind: _Conditions = msgspec.field(default_factory=list)
    type: _Conditions = msgspec.field(default_factory=list)
    """Ends of file names, such as `pdf`."""
    source: _Conditions = msgspec.field(default_factory=list)
    only: Literal["", "code", "document"] = ""


class SnippetPart(msgspec.Struct, frozen=True, kw_only=True):
    """A line of code or a sentence, with the places of the words that match."""

    number: int
    """The number of the line in its file, or of the sentence in its chunk."""
    text: str
    marks: list[tuple[int, int]]
    is_best: bool


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that matches, and why."""

    rank: int
    score: float
    found_by: Literal["words", "vectors", "both"]
    is_weak: bool
    """Whether it has no word of the question, and is not more similar than by chance."""
    ranks: dict[str, int]
    shares: dict[str, float]
    reasons: list[str]
    id: str
    path: str
    title: str
    """The outermost title of a document, the name of a definition, or else the file name."""
    heading_path: list[str]
    citation: str
    location: str
    only: str
    language: str
    kind: str
    name: str
    context: str
    start: int
    end: int
    line: int
    """The best line of code, of text and of Markdown; 0 if it is not known."""
    number: int
    pages: list[int]
    chunk_id: str
    copies: list[str]
    snippet: list[SnippetPart]


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question."""

    query: str
    mode: str
    mode_reason: str
    language: str
    """The language of the question, as far as it tells."""
    hits: list[SearchHit]
    places: list[CodeLocation]
    suggestions: list[str]
    warnings: list[str]
    generation: int
    """Of which publication the answer is; 0: they are not counted."""
    published_at: float
    """When it was published, in seconds since 1970."""


def answer_search(catalog: Catalog, params: SearchParams) -> SearchResult:
    """Search one DATA."""
    options = SearchOptions(
        mode=params.mode,
        count=params.k,
        path=params.path,
        language=params.language,
        kind=params.kind,
        type=params.type,
        source=params.source,
        only=params.only,
    )
    answer = search(find_index(catalog.get(params.data).path), params.q, options)
    return SearchResult(
        query=answer.query.text,
        mode=answer.mode,
        mode_reason=answer.mode_reason,
        language=answer.language,
        hits=[_describe_hit(answer, rank, hit) for rank, hit in enumerate(answer.hits, 1)],
        places=list(answer.places),
        suggestions=list(answer.suggestions),
        warnings=list(answer.warnings),
        generation=answer.generation.number,
        published_at=answer.generation.published_at,
    )


def _describe_hit(answer: SearchAnswer, rank: int, hit: Hit) -> SearchHit:
    lines = answer.make_snippet(hit)
    line = find_best_line(hit, lines)
    same = {name: value for name, value in msgspec.structs.asdict(hit).items() if name in SearchHit.__struct_fields__}
    described = {
        "rank": rank,
        "score": round(hit.score, 6),
        "found_by": _name_lists(hit.ranks),
        "shares": {name: round(share, 6) for name, share in hit.shares.items()},
        "id": hit.item_id,
        "title": hit.title,
        "heading_path": hit.heading_path,
        "citation": hit.citation,
        "location": hit.locate(line or None),
        "only": hit.file_kind,
        "line": line,
        "snippet": [_cut_line(each) for each in lines],
    }
    return SearchHit(**(same | described))


def _name_lists(ranks: dict[str, int]) -> Literal["words", "vectors", "both"]:
    if "lexical" in ranks:
        return "both" if "dense" in ranks else "words"
    return "vectors"


def _cut_line(line: SnippetLine) -> SnippetPart:
    """A line that is not too long: the part around the first word that matches."""
    start = 0
    if len(line.text) > _LINE_CHARACTERS_MAX and line.marks:
        start = max(0, min(line.marks[0][0] - _LINE_CHARACTERS_MAX // 4, len(line.text) - _LINE_CHARACTERS_MAX))
    start, stop = cut(line.text, _LINE_CHARACTERS_MAX, start)
    text = line.text[start:stop]
    head, tail = "…" if start else "", "…" if stop < len(line.text) else ""
    shift = len(head) - start
    kept = [(begin, end) for begin, end in line.marks if begin >= start and end <= stop]
    marks = [(begin + shift, end + shift) for begin, end in kept]
    return SnippetPart(number=line.number, text=f"{head}{text}{tail}", marks=marks, is_best=line.is_best)


class Facet(msgspec.Struct, frozen=True):
    """A value that a search can be restricted to, and the number of files or chunks that have it."""

    value: str
    count: int


class Facets(msgspec.Struct, frozen=True, kw_only=True):
    """What an index contains."""

    files: int
    documents: int
    chunks: int
    languages: list[Facet]
    document_languages: list[Facet]
    kinds: list[Facet]
    examples: list[str]
    """Questions that something in the index answers."""


_facets: dict[str, tuple[object, Facets]] = {}
_facets_lock = Lock()


def answer_facets(catalog: Catalog, params: DataParams) -> Facets:
    """What an index contains. It is counted once per state of the index."""
    data = catalog.get(params.data).path
    with use_index(find_index(data)) as index:
        state = id(index), index.version
        with _facets_lock:
            known = _facets.get(data)
        if known is not None and known[0] == state:
            return known[1]
        found = _count_facets(index.connection)
    with _facets_lock:
        _facets[data] = state, found
    return found


def _count_facets(connection: sqlite3.Connection) -> Facets:
    def count(sql: str) -> list[Facet]:
        return [Facet(str(value), number) for value, number in connection.execute(sql, (_FACETS_MAX,)) if value]

    by_language = "SELECT language, COUNT(*) FROM files WHERE kind {} 'code' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"
    totals = dict(connection.execute("SELECT kind, COUNT(*) FROM files GROUP BY kind"))
    [chunks] = connection.execute("SELECT COUNT(*) FROM chunks").fetchone()
    return Facets(
        files=totals.get("code", 0),
        documents=totals.get("document", 0),
        chunks=chunks,
        languages=count(by_language.format("=")),
        document_languages=count(by_language.format("<>")),
        kinds=count("SELECT kind, COUNT(*) FROM chunks GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"),
        examples=list(_list_examples(connection)),
    )


def _list_examples(connection: sqlite3.Connection) -> Iterator[str]:
    """A title of a section, and lookups of a name and of a module that several files use."""
    titles = connection.execute(
        "SELECT context FROM chunks JOIN files ON files.id = file "
        "WHERE files.kind <> 'code' AND context LIKE '%_ > _%' LIMIT ?",
        (_TITLES_MAX,),
    )
    found = [context.split(" > ")[-2] for (context,) in titles]
    short = [title for title in found if title.count(" ") < _WORDS_MAX and ":" not in title and title.isprintable()]
    yield from sorted(short, key=lambda title: " " not in title)[:1]
    called = connection.execute(
        "SELECT name FROM callees GROUP BY name ORDER BY COUNT(*) DESC, name LIMIT ?", (_NAMES_MAX,)
    )
    defined = "SELECT 1 FROM symbols WHERE name = ? COLLATE NOCASE LIMIT 1"
    name = next((name for (name,) in called if connection.execute(defined, (name,)).fetchone()), None)
    if name is not None:
        yield from (f"def:{name}", f"ref:{name}")
    for prefix, query in (
        ("sym", "SELECT name FROM symbols WHERE kind = 'class' ORDER BY name LIMIT 1"),
        ("imports", "SELECT module FROM imports GROUP BY module ORDER BY COUNT(*) DESC, module LIMIT 1"),
    ):
        yield from (f"{prefix}:{each}" for (each,) in connection.execute(query) if each)
