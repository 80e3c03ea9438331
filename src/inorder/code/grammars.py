"""The tree-sitter grammars and their queries.

Every grammar is a package of its own. It is loaded for the first file of its language and kept for the process. If it
is not installed, files of its language are split by lines. The queries are in `queries/`, one file per language, those
for markup and data in `queries/data/`. A language that extends another one uses the queries of both, its own first.
"""

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inorder.files.package_versions import find_version

from .matches import Role
from .scripts import COMPONENTS, SCRIPT_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node, Parser, Query, QueryCursor

READING_VERSION = 2
"""Version of the code that makes chunks, symbols, imports and calls. To be increased whenever its results change."""

DEPTH_MAX = 2000
"""Limit for the depth of a match in the tree. The time of a query grows with the square of the depth."""


class _GrammarSource(NamedTuple):
    package: str
    queries: tuple[str, ...]
    entry: str = "language"


_DATA_FOLDER = "data/"


def _make_source(name: str, folder: str = "") -> _GrammarSource:
    return _GrammarSource(f"tree-sitter-{name}", (f"{folder}{name}",))


_SOURCES = {
    **{name: _make_source(name) for name in ("python", "java", "go", "rust", "c", "ruby", "bash", "scala")},
    **{name: _make_source(name) for name in ("dart", "elixir", "kotlin", "lua", "swift")},
    **{name: _make_source(name, _DATA_FOLDER) for name in ("html", "css", "json", "yaml", "toml", "sql", "markdown")},
    "javascript": _GrammarSource("tree-sitter-javascript", ("javascript", "ecmascript")),
    "cpp": _GrammarSource("tree-sitter-cpp", ("cpp", "c")),
    "csharp": _GrammarSource("tree-sitter-c-sharp", ("csharp",)),
    "php": _GrammarSource("tree-sitter-php", ("php",), "language_php"),
    "typescript": _GrammarSource("tree-sitter-typescript", ("typescript", "ecmascript"), "language_typescript"),
    "tsx": _GrammarSource("tree-sitter-typescript", ("tsx", "typescript", "ecmascript"), "language_tsx"),
}
LANGUAGES = tuple(sorted(_SOURCES))
"""The languages that are parsed."""
BLOCK_LANGUAGES = tuple(
    sorted(name for name, source in _SOURCES.items() if not source.queries[0].startswith(_DATA_FOLDER))
)
"""Those that are parsed in documents, too: languages of programs, not of markup and data."""


class Grammar(NamedTuple):
    """A parser for one language and its query."""

    parser: "Parser"
    query: "Query"
    new_cursor: "Callable[[Query], QueryCursor]"
    roles: dict[int, Role]
    """The role of each pattern of the query, by the number of the pattern. Filled on first use."""

    def find_matches(self, root: "Node") -> "list[tuple[int, dict[str, list[Node]]]]":
        """All matches of the query in a tree, down to a depth of `DEPTH_MAX`."""
        cursor = self.new_cursor(self.query)
        cursor.set_max_start_depth(DEPTH_MAX)
        return cursor.matches(root)


@cache
def load_grammar(language: str) -> Grammar | str:
    """The grammar of a language, or the reason why there is none; empty if the language is never parsed."""
    source = _SOURCES.get(language)
    if source is None:
        return ""
    try:
        library, module = import_module("tree_sitter"), import_module(source.package.replace("-", "_"))
    except ImportError as error:
        return f"{error.name} is not installed"
    try:
        loaded = library.Language(getattr(module, source.entry)())
        query = library.Query(loaded, _read_queries(language).decode("utf-8"))
        return Grammar(library.Parser(loaded), query, library.QueryCursor, {})
    except (AttributeError, ValueError) as error:
        return f"the installed {source.package} does not fit: {error}"


@cache
def grammar_version(language: str) -> str:
    """A string that changes whenever parsing of this language may give other results. Loads no grammar."""
    if language in COMPONENTS:
        return " ".join(map(grammar_version, SCRIPT_LANGUAGES))
    source = _SOURCES.get(language)
    if source is None:
        return f"lines/{READING_VERSION}"
    queries = hashlib.sha256(_read_queries(language)).hexdigest()[:12]
    packages = " ".join(f"{name}/{find_version(name) or 'none'}" for name in ("tree-sitter", source.package))
    return f"{packages} {language}.scm/{queries} reading/{READING_VERSION}"


def _read_queries(language: str) -> bytes:
    folder = Path(__file__).with_name("queries")
    return b"\n".join((folder / f"{name}.scm").read_bytes() for name in _SOURCES[language].queries)
