"""Symbols, and who calls whom: questions about names, answered exactly."""

import sqlite3
from typing import Any

import msgspec

from .query import Query

_LIMIT = 200


class Found(msgspec.Struct, kw_only=True):
    """A place in the source."""

    what: str
    """`function`, `class`, `call`, `import`..."""
    name: str
    path: str
    item_id: str
    line: int
    end: int
    detail: str = ""
    """A signature, the caller, or the names that are imported."""


def look_up(connection: sqlite3.Connection, query: Query, count: int) -> list[Found]:
    """`sym:` and `def:` are definitions, `ref:` calls, `imports:` files that import."""
    if query.kind == "ref":
        return calls_of(connection, query.name, count)
    if query.kind == "imports":
        return _imports(connection, query.name, count)
    return definitions(connection, query.name, count, is_exact=query.kind == "def")


def definitions(connection: sqlite3.Connection, name: str, count: int, *, is_exact: bool) -> list[Found]:
    """Definitions of this name: its own, or the end of its qualified one; if there is none, and that is allowed, those
    that begin so."""
    found = _definitions(connection, "name = ?1 COLLATE NOCASE OR qualified = ?1 COLLATE NOCASE", name, count)
    if not found and "." in name:
        found = _definitions(connection, "qualified LIKE '%.' || ?1 ESCAPE '\\'", _escaped(name), count)
    if not found and not is_exact:
        found = _definitions(connection, "name LIKE ?1 || '%' ESCAPE '\\'", _escaped(name), count)
    return found


def _definitions(connection: sqlite3.Connection, condition: str, name: str, count: int) -> list[Found]:
    rows = connection.execute(
        'SELECT symbols.kind, qualified, path, item_id, start, "end", signature FROM symbols '
        f"JOIN files ON files.id = file WHERE {condition} ORDER BY length(qualified), item_id, start LIMIT ?2",
        (name, count),
    )
    return [
        Found(what=kind, name=qualified, path=path, item_id=item_id, line=start, end=end, detail=signature)
        for kind, qualified, path, item_id, start, end, signature in rows
    ]


def calls_of(connection: sqlite3.Connection, name: str, count: int = _LIMIT) -> list[Found]:
    """Where something of this name is called."""
    return _calls(connection, "callee = ? COLLATE NOCASE", (name.rpartition(".")[2],), count)


def calls_in(connection: sqlite3.Connection, definition: Found, count: int = _LIMIT) -> list[Found]:
    """What a definition calls, between its first line and its last."""
    condition = "item_id = ? AND line BETWEEN ? AND ? AND caller = ?"
    return _calls(connection, condition, (definition.item_id, definition.line, definition.end, definition.name), count)


def _calls(connection: sqlite3.Connection, condition: str, values: tuple[Any, ...], count: int) -> list[Found]:
    rows = connection.execute(
        f"SELECT caller, callee, line, path, item_id FROM calls JOIN files ON files.id = file WHERE {condition} "
        'ORDER BY item_id, line, "column" LIMIT ?',
        (*values, count),
    )
    return [
        Found(what="call", name=callee, path=path, item_id=item_id, line=line, end=line, detail=caller)
        for caller, callee, line, path, item_id in rows
    ]


def _imports(connection: sqlite3.Connection, name: str, count: int) -> list[Found]:
    rows = connection.execute(
        "SELECT module, names, line, path, item_id FROM imports JOIN files ON files.id = file "
        "WHERE module = ?1 COLLATE NOCASE OR module LIKE ?2 || '.%' ESCAPE '\\' OR module LIKE ?2 || '/%' ESCAPE '\\' "
        "OR module LIKE '%/' || ?2 ESCAPE '\\' OR (', ' || names || ', ') LIKE '%, ' || ?2 || ', %' ESCAPE '\\' "
        "ORDER BY item_id, line LIMIT ?3",
        (name, _escaped(name), count),
    )
    return [
        Found(what="import", name=module, path=path, item_id=item_id, line=line, end=line, detail=names)
        for module, names, line, path, item_id in rows
    ]


def symbols_of(connection: sqlite3.Connection, path: str) -> list[Found]:
    """The definitions of one file, by its path or by the end of it."""
    rows = connection.execute(
        'SELECT symbols.kind, qualified, path, item_id, start, "end", signature FROM symbols '
        "JOIN files ON files.id = file WHERE item_id = ?1 OR path = ?1 OR item_id LIKE '%/' || ?2 ESCAPE '\\' "
        "ORDER BY item_id, start, qualified",
        (path, _escaped(path)),
    )
    return [
        Found(what=kind, name=qualified, path=path, item_id=item_id, line=start, end=end, detail=signature)
        for kind, qualified, path, item_id, start, end, signature in rows
    ]


def graph_of(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    """A definition, who calls it, and what it calls."""
    found = definitions(connection, name, _LIMIT, is_exact=True)
    return {
        "name": name,
        "definitions": found,
        "callers": calls_of(connection, name),
        "callees": [call for each in found for call in calls_in(connection, each)],
    }


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
