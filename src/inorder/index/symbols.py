"""Exact lookup of symbols, their callers, and imports."""

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.code.model import CallSite
from inorder.code.texts import NAME_CHARACTERS_MAX
from inorder.host.spelling import spell

from .calls import find_sites, read_calls, sort_calls
from .hits import locate
from .lexical.schema import DamagedIndexError
from .query import Query
from .rows import CODE
from .text_lines import find_line

_COUNT_MAX = 200
_LOCATION = "location(files.kind, item_id, path)"
FILE_NAMED = (
    f"file IN (SELECT id FROM files WHERE item_id = ?1 OR path = ?2 OR {_LOCATION} IN (?1, ?2) "
    "OR item_id LIKE '%/' || ?3 ESCAPE '\\')"
)
"""The condition that a row belongs to a file that a user names; its placeholders are those of `name_values`."""


class CodeLocation(msgspec.Struct, kw_only=True):
    """A place in source code, or in the code of a document."""

    what: str
    """`function`, `class`, `call`, `import`..."""
    name: str
    path: str
    """As seen from the current folder."""
    item_id: str
    line: int
    """0 in a document, unless that is text or Markdown and the line is known."""
    end: int
    detail: str = ""
    """The signature, the caller, or the imported names."""
    only: str = CODE
    """`code` or `document`."""
    number: int = 0
    """The number of the chunk of a document."""
    pages: list[int] = []
    """The pages of a document that the chunk is on."""

    def locate(self) -> str:
        """Where it is, in a form that opens."""
        return locate(self.path, self.line, self.pages)


def look_up(connection: sqlite3.Connection, query: Query, count: int) -> list[CodeLocation]:
    """Answer a query by name: `sym:` and `def:` find definitions, `ref:` calls, `imports:` import statements."""
    if query.kind == "ref":
        return find_calls_to(connection, query.name, count)
    if query.kind == "imports":
        return _place(connection, _find_imports(connection, query.name, count))
    return find_definitions(connection, query.name, count, is_exact=query.kind == "def")


def _place(connection: sqlite3.Connection, found: Sequence[CodeLocation]) -> list[CodeLocation]:
    """The same, with lines and pages in place of characters of a document's text."""
    return [each if each.only == CODE else _place_in_document(connection, each) for each in found]


def _place_in_document(connection: sqlite3.Connection, found: CodeLocation) -> CodeLocation:
    query = (
        "SELECT number, start, pages, text FROM chunks JOIN files ON files.id = file "
        "WHERE item_id = ? AND start <= ? ORDER BY start DESC LIMIT 1"
    )
    row = connection.execute(query, (found.item_id, found.line)).fetchone()
    if row is None:
        raise DamagedIndexError(f"no chunk of {found.item_id} has {found.name}")
    number, start, pages, text = row
    at = text.rfind("\n", 0, found.line - start) + 1
    line = find_line(found.path, text, text[at:].partition("\n")[0])
    numbers = [int(page) for page in pages.split()]
    return msgspec.structs.replace(found, line=line, end=line, number=number, pages=numbers)


def find_definitions(connection: sqlite3.Connection, name: str, count: int, *, is_exact: bool) -> list[CodeLocation]:
    """Definitions of a name: see `_list_definitions`."""
    return _place(connection, _list_definitions(connection, name, count, is_exact=is_exact))


def _list_definitions(connection: sqlite3.Connection, name: str, count: int, *, is_exact: bool) -> list[CodeLocation]:
    """Definitions whose name or qualified name is `name`, or else ends with it. Unless `is_exact`, fall back to those
    whose name begins with it."""
    ends = _list_ends(name)
    is_named = "(name = ?1 COLLATE NOCASE OR qualified = ?1 COLLATE NOCASE)"
    is_indexed = f"name COLLATE NOCASE IN ({', '.join(f'?{at + 3}' for at in range(len(ends)))})"
    found = _find_symbols(connection, f"{is_indexed} AND {is_named}", name, count, ends)
    if not found and "." in name:
        found = _find_symbols(connection, "qualified LIKE '%.' || ?1 ESCAPE '\\'", _escape_like(name), count)
    if not found and not is_exact:
        found = _find_symbols(connection, "name LIKE ?1 || '%' ESCAPE '\\'", _escape_like(name), count)
    return found


def _list_ends(name: str) -> list[str]:
    """What may be the name of a definition with this qualified name: the whole, and all after any of its dots. The
    database has an index of names, and none of qualified names."""
    parts = name.rsplit(".", NAME_CHARACTERS_MAX)
    return [name, *(".".join(parts[at:]) for at in range(1, len(parts)))]


def _find_symbols(
    connection: sqlite3.Connection, condition: str, name: str, count: int, more: Sequence[str] = ()
) -> list[CodeLocation]:
    condition = f"{condition} ORDER BY length(qualified), item_id, start LIMIT ?2"
    return _select_symbols(connection, condition, (name, count, *more))


def _select_symbols(connection: sqlite3.Connection, condition: str, values: Sequence[str | int]) -> list[CodeLocation]:
    rows = connection.execute(
        f'SELECT symbols.kind, qualified, {_LOCATION}, item_id, start, "end", signature, files.kind FROM symbols '
        f"JOIN files ON files.id = file WHERE {condition}",
        values,
    )
    return [
        CodeLocation(
            what=kind, name=qualified, path=path, item_id=item_id, line=start, end=end, detail=signature, only=only
        )
        for kind, qualified, path, item_id, start, end, signature, only in rows
    ]


def find_calls_to(connection: sqlite3.Connection, name: str, count: int = _COUNT_MAX) -> list[CodeLocation]:
    """The places where something of this name is called."""
    found = find_sites(connection, name.rpartition(".")[2], count)
    return _place(connection, [each for file, call in found for each in _locate_calls(connection, file, [call])])


def find_calls_in(connection: sqlite3.Connection, definition: CodeLocation) -> list[CodeLocation]:
    """The calls that a definition makes, between its first line and its last."""
    row = connection.execute("SELECT id FROM files WHERE item_id = ?", (definition.item_id,)).fetchone()
    calls = sort_calls(
        call
        for call in (read_calls(connection, row[0]) if row else ())
        if definition.line <= call.line <= definition.end and call.caller == definition.name
    )
    return _place(connection, _locate_calls(connection, row[0], calls[:_COUNT_MAX])) if calls else []


def _locate_calls(connection: sqlite3.Connection, file: int, calls: Sequence[CallSite]) -> list[CodeLocation]:
    query = f"SELECT {_LOCATION}, item_id, kind FROM files WHERE id = ?"
    [path, item_id, only] = connection.execute(query, (file,)).fetchone()
    return [
        CodeLocation(
            what="call",
            name=call.callee,
            path=path,
            item_id=item_id,
            line=call.line,
            end=call.line,
            detail=call.caller,
            only=only,
        )
        for call in calls
    ]


def _find_imports(connection: sqlite3.Connection, name: str, count: int) -> list[CodeLocation]:
    rows = connection.execute(
        f"SELECT module, names, line, {_LOCATION}, item_id, files.kind FROM imports JOIN files ON files.id = file "
        "WHERE module = ?1 COLLATE NOCASE OR module LIKE ?2 || '.%' ESCAPE '\\' OR module LIKE ?2 || '/%' ESCAPE '\\' "
        "OR module LIKE '%/' || ?2 ESCAPE '\\' OR (', ' || names || ', ') LIKE '%, ' || ?2 || ', %' ESCAPE '\\' "
        "ORDER BY item_id, line LIMIT ?3",
        (name, _escape_like(name), count),
    )
    return [
        CodeLocation(
            what="import", name=module, path=path, item_id=item_id, line=line, end=line, detail=names, only=only
        )
        for module, names, line, path, item_id, only in rows
    ]


def list_symbols(connection: sqlite3.Connection, path: str) -> list[CodeLocation]:
    """The definitions of one file, which is named by its path, its item id, or the end of its item id."""
    condition = f"{FILE_NAMED} ORDER BY item_id, start, qualified"
    return _place(connection, _select_symbols(connection, condition, name_values(path)))


def name_values(path: str) -> tuple[str, str, str]:
    """The values of the placeholders of `FILE_NAMED`."""
    shown = spell(path)
    return shown, spell(os.path.abspath(path)), _escape_like(shown)


def call_graph(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    """The definitions of a name, the calls to it, and the calls that it makes."""
    name = spell(name)
    definitions = _list_definitions(connection, name, _COUNT_MAX, is_exact=True)
    return {
        "name": name,
        "definitions": _place(connection, definitions),
        "callers": find_calls_to(connection, name),
        "callees": [call for each in definitions for call in find_calls_in(connection, each)],
    }


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
