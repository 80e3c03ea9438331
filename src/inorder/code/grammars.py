"""The grammars, and the questions that each is asked.

Every grammar is a package of its own, loaded when the first file of its language is met and kept for the process. One
that is not installed is no error: its files are cut into lines. What is asked of a tree stands in `queries/`, one file
for each language; a language that extends another is asked the questions of both, its own first.
"""

import hashlib
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node, Parser, Query, QueryCursor

READING_VERSION = 1
"""Of how answers are made into chunks, symbols, imports and calls. Counts up whenever that changes."""

DEPTH_MAX = 2000
"""Of what is asked about in a tree. Nobody writes deeper, and a query takes time with the square of the depth."""


class _Origin(NamedTuple):
    package: str
    queries: tuple[str, ...]
    entry: str = "language"


def _plain(name: str) -> _Origin:
    return _Origin(f"tree-sitter-{name}", (name,))


_ORIGINS = {
    **{name: _plain(name) for name in ("python", "java", "go", "rust", "c", "ruby", "bash", "scala")},
    **{name: _plain(name) for name in ("html", "css", "json", "yaml", "toml", "sql", "markdown")},
    "javascript": _Origin("tree-sitter-javascript", ("javascript", "ecmascript")),
    "cpp": _Origin("tree-sitter-cpp", ("cpp", "c")),
    "csharp": _Origin("tree-sitter-c-sharp", ("csharp",)),
    "php": _Origin("tree-sitter-php", ("php",), "language_php"),
    "typescript": _Origin("tree-sitter-typescript", ("typescript", "ecmascript"), "language_typescript"),
    "tsx": _Origin("tree-sitter-typescript", ("tsx", "typescript", "ecmascript"), "language_tsx"),
}
LANGUAGES = tuple(sorted(_ORIGINS))
"""Those that are parsed."""


class Grammar(NamedTuple):
    """What a file of one language is parsed and asked with."""

    parser: "Parser"
    query: "Query"
    new_cursor: "Callable[[Query], QueryCursor]"
    roles: dict[int, str]
    """The capture that says what a pattern is about, by the pattern's number. Filled as they are met."""

    def matches(self, root: "Node") -> "list[tuple[int, dict[str, list[Node]]]]":
        """Everything the query finds in a tree, down to a depth."""
        cursor = self.new_cursor(self.query)
        cursor.set_max_start_depth(DEPTH_MAX)
        return cursor.matches(root)


@cache
def grammar(language: str) -> Grammar | str:
    """Ready to use, or why it is not."""
    origin = _ORIGINS.get(language)
    if origin is None:
        return ""
    try:
        library, module = import_module("tree_sitter"), import_module(origin.package.replace("-", "_"))
    except ImportError as error:
        return f"{error.name} is not installed"
    try:
        loaded = library.Language(getattr(module, origin.entry)())
        query = library.Query(loaded, _questions(language).decode("utf-8"))
        return Grammar(library.Parser(loaded), query, library.QueryCursor, {})
    except (AttributeError, ValueError) as error:
        return f"the installed {origin.package} does not fit: {error}"


@cache
def grammar_version(language: str) -> str:
    """Changes whenever a file of this language might be read differently. Loads no grammar."""
    origin = _ORIGINS.get(language)
    if origin is None:
        return f"lines/{READING_VERSION}"
    questions = hashlib.sha256(_questions(language)).hexdigest()[:12]
    packages = " ".join(f"{name}/{_installed(name)}" for name in ("tree-sitter", origin.package))
    return f"{packages} {language}.scm/{questions} reading/{READING_VERSION}"


def _questions(language: str) -> bytes:
    folder = files(__package__) / "queries"
    return b"\n".join((folder / f"{name}.scm").read_bytes() for name in _ORIGINS[language].queries)


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
