"""Answer a question from the index of DATA: the one function behind the command line, the server for assistants, the
evaluation and the Python interface.

An index stays open between questions, and is opened again when a run has published another one. Any number of threads
may ask; those who ask the same index take turns.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, RLock
from typing import NamedTuple

import msgspec

from inorder.errors import OperatorError, require
from inorder.host.spelling import spell
from inorder.stage.data_layout import require_current_data

from .hits import CONTEXT_MAX, MODES, FileHits, Filters, Hit, Values, add_copies, group_by_file
from .lexical.scoring import TermGroup
from .locations import match_copies
from .place import Generation, IndexConnection, IndexPlace
from .query import CHARACTERS_MAX, Query, parse_query
from .ranking.rerank import HITS_MAX, rerank
from .ranking.retrieval import Searcher
from .ranking.snippets import CONTEXT, SnippetLine, make_snippet
from .staleness import find_changes
from .symbols import CodeLocation, look_up
from .text_lines import find_best_line

_OPEN_MAX = 4
_KINDS = ("", "code", "document")


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to search. The conditions are those of `Filters`."""

    mode: str = "auto"
    count: int = 10
    path: Values = ""
    language: Values = ""
    kind: Values = ""
    only: str = ""
    type: Values = ""
    source: Values = ""
    context: int = 0
    """How many chunks of the file to add before and after each hit."""
    rerank: str = ""
    """The model that orders the first hits again; empty: none. See `ranking.rerank`."""

    def __post_init__(self) -> None:
        require(self.mode in MODES, f"--mode must be one of {', '.join(MODES)}; got {self.mode!r}")
        for name in ("path", "language", "kind", "type", "source"):
            value = getattr(self, name)
            is_list = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
            require(isinstance(value, str) or is_list, f"{name} must be a text or a list of texts; got {value!r}")
        require(0 <= self.context <= CONTEXT_MAX, f"context must be 0 to {CONTEXT_MAX}; got {self.context}")
        require(self.only in _KINDS, f"--only must be code or document; got {self.only!r}")

    @property
    def filters(self) -> Filters:
        """The conditions that a chunk must meet."""
        return Filters(
            path=_spell_values(self.path),
            language=_spell_values(self.language),
            kind=_spell_values(self.kind),
            only=self.only,
            type=_spell_values(self.type),
            source=_spell_values(self.source),
        )


def _spell_values(values: Values) -> Values:
    return spell(values) if isinstance(values, str) else [spell(value) for value in values]


class SearchAnswer(NamedTuple):
    """A question and what was found.

    >>> import inorder
    >>> def list_paths(answer: inorder.dataset.SearchAnswer) -> list[str]:
    ...     return [hit.path for hit in answer.hits]
    """

    query: Query
    mode: str
    """How it was searched; `names` for a lookup by name."""
    mode_reason: str = ""
    """Why it was searched in this way."""
    hits: Sequence[Hit] = ()
    places: Sequence[CodeLocation] = ()
    """What a lookup by name found."""
    suggestions: Sequence[str] = ()
    """Words of the index that are similar to words of the question that it does not have."""
    warnings: Sequence[str] = ()
    groups: Sequence[TermGroup] = ()
    """The words that were looked for, in every form."""
    generation: Generation = Generation(0, 0.0)
    """Of when the index is that was searched."""
    language: str = ""
    """The language whose stop words and endings were left out; empty if the question does not tell it."""

    @property
    def files(self) -> list[FileHits]:
        """The hits by file, in the order of the best hit of each."""
        return group_by_file(self.hits)

    def make_snippet(self, hit: Hit, context: int = CONTEXT) -> list[SnippetLine]:
        """The lines or sentences of a hit that answer best: one, and `context` of them before and after it."""
        return make_snippet(hit, self.groups, context)

    def find_line(self, hit: Hit) -> int:
        """The line of the file that answers best, from 1: of source code, and of text and Markdown as the file is now;
        0 if it is not known."""
        return find_best_line(hit, self.make_snippet(hit))


def search(place: IndexPlace, question: str, options: SearchOptions | None = None) -> SearchAnswer:
    """Search an index.

    Raises OperatorError for a question without words, for a filter that nothing in the index can meet, and if there is
    no index; IntegrityError for a damaged one.
    """
    options = options or SearchOptions()
    query = parse_query(question)
    with use_index(place) as index:
        generation = place.read_generation(index.connection)
        if query.kind != "text":
            places = look_up(index.connection, query, options.count)
            changes = index.find_changes(place.path for place in places)
            reason = "the question is a lookup by name"
            return SearchAnswer(query, "names", reason, places=places, warnings=changes, generation=generation)
        filters = options.filters
        if options.path:
            copies = index.list_copies()
            patterns, _ = filters.split("path")
            filters = filters._replace(copied=match_copies(index.connection, copies, patterns))
        answer = answer_from(index.searcher, query, options, filters)
        found = [item for hit in answer.hits for item in (hit.item_id, *hit.copies)]
        add_copies(answer.hits, index.list_copies(found))
        changes = index.find_changes(hit.path for hit in answer.hits)
        return answer._replace(warnings=[*answer.warnings, *changes], generation=generation)


def answer_from(
    searcher: Searcher, query: Query, options: SearchOptions, filters: Filters | None = None
) -> SearchAnswer:
    """Answer a question that is not a lookup by name. Default filters: those of the options."""
    filters = filters or options.filters
    mode, reason = searcher.choose_mode(query, options.mode, filters)
    count = max(options.count, HITS_MAX) if options.rerank else options.count
    hits = searcher.search(query, mode, count, filters)
    warnings = _list_warnings(searcher, query, options)
    if not hits and query.phrases:
        named = ", ".join(f'"{phrase}"' for phrase in query.phrases)
        warnings.append(f"no text has {named}: its words were searched for")
        hits = searcher.search(query._replace(phrases=()), mode, count, filters)
    if options.rerank:
        hits = rerank(query.text, hits, options.rerank)[: options.count]
    if not hits:
        searcher.check_filters(options.filters)
    for hit in hits if options.context else ():
        hit.before, hit.after = searcher.read_neighbours(hit, options.context)
    return SearchAnswer(
        query,
        mode,
        reason,
        hits,
        suggestions=searcher.suggest_words(query),
        warnings=warnings,
        groups=searcher.find_groups(query),
        language=query.detect_language(searcher.languages),
    )


def _list_warnings(searcher: Searcher, query: Query, options: SearchOptions) -> list[str]:
    found = [searcher.warning] if options.mode in ("auto", "hybrid") and searcher.warning else []
    if query.characters > CHARACTERS_MAX:
        found.append(f"of the {query.characters:,} characters of the question, {CHARACTERS_MAX:,} were searched for")
    return found


class OpenIndex(IndexConnection):
    """An index that stays open, and whether it is still the one that is there."""

    def __init__(self, place: IndexPlace) -> None:
        self.lock = RLock()
        self._identity = place.identify()
        super().__init__(place)
        self._searcher: Searcher | None = None

    @property
    def searcher(self) -> Searcher:
        """Opened when it is first needed."""
        if self._searcher is None:
            self._searcher = Searcher(self.connection, self.place.data)
        return self._searcher

    def find_changes(self, paths: Iterable[str]) -> list[str]:
        """What says that the sources have changed since they were indexed, judged by the files at these paths."""
        roots = {root for found in self.place.read_roots(self.connection).values() for root in found.values()}
        return find_changes(roots, self.place.read_compared_ns(self.connection), paths)

    def list_copies(self, originals: Sequence[str] | None = None) -> list[tuple[str, str]]:
        """The id of each copy of these documents, or of all, and that of the document."""
        return self.place.list_copies(self.connection, originals)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Let all questions in the body see one state of the index."""
        before = self.version
        with super().snapshot() as connection:
            if self.version != before:
                self._searcher = None
            yield connection

    def is_current(self) -> bool:
        """Whether the files are those that were opened."""
        return self._identity == self.place.identify() and (self._searcher is None or self._searcher.is_current())


_open: dict[str, OpenIndex] = {}
_open_lock = Lock()


@contextmanager
def use_index(place: IndexPlace) -> Iterator[OpenIndex]:
    """An index, for one thread at a time. Its errors are raised as ours."""
    require_current_data(place.data)
    if not place.exists():
        raise OperatorError(f"no index in {place.data}; make one with `inorder index SRC` or `inorder run SRC`")
    with place.translate_errors(), _open_lock:
        index = _open.pop(place.path, None)
        if index is None or not index.is_current():
            index = OpenIndex(place)
        _open[place.path] = index
        while len(_open) > _OPEN_MAX:
            del _open[next(iter(_open))]
    with index.lock, index.snapshot():
        yield index
