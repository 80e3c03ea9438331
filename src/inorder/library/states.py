"""Read what each step did with the files that are there now: counts, facts, and lists for people."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from .contents import decode_path
from .reader import COUNTED, PAGE, LibraryReader
from .rows import WARNINGS
from .schema import STEPS_MAX

_STEP = "(SELECT id FROM steps WHERE name = :step)"
_DONE = (
    "SELECT states.id, item_id, items.kind, extras FROM states JOIN items "
    f"ON items.id = states.id / {STEPS_MAX} AND removed = 0 AND kind NOT GLOB 'archive:*' "
    f"WHERE states.id > :after AND states.id % {STEPS_MAX} = {_STEP} AND output IS NOT NULL "
    f"ORDER BY states.id LIMIT {PAGE}"
)
_COUNT = (
    f"SELECT COUNT(*) FROM states JOIN items ON items.id = states.id / {STEPS_MAX} AND removed = 0 "
    "AND kind NOT GLOB 'archive:*' "
    f"WHERE states.id % {STEPS_MAX} = {_STEP} AND output IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.id = states.id)"
)
_WARNED = (
    f"SELECT extras FROM states JOIN items ON items.id = states.id / {STEPS_MAX} AND removed = 0 "
    f"AND kind NOT GLOB 'archive:*' WHERE states.id % {STEPS_MAX} = {_STEP} AND output IS NOT NULL "
    "AND instr(extras, :name)"
)
_FAILED = (
    f"SELECT category, COUNT(*) FROM failures JOIN items ON items.id = failures.id / {STEPS_MAX} AND removed = 0 "
    f"WHERE failures.id % {STEPS_MAX} = {_STEP} GROUP BY category ORDER BY 2 DESC, 1"
)
_FAILURE = (
    f"(SELECT message FROM failures WHERE failures.id BETWEEN items.id * {STEPS_MAX} "
    f"AND items.id * {STEPS_MAX} + {STEPS_MAX - 1} LIMIT 1)"
)
_NOTE = f"COALESCE({_FAILURE}, reason, CASE WHEN copy_of IS NOT NULL THEN 'the same content as ' || copy_of END)"
_STATUS = (
    "CASE WHEN copy_of IS NOT NULL THEN 'copy' WHEN reason IS NOT NULL THEN 'not read' "
    f"WHEN {_FAILURE} IS NOT NULL THEN 'failed' ELSE 'read' END"
)
_LISTED = (
    f"SELECT item_id AS id, {_STATUS} AS status, substr(COALESCE({_NOTE}, ''), 1, 300) AS note, "
    f"kind GLOB 'code:*' AS is_code FROM items WHERE {COUNTED}"
)
_MATCHING = (
    "(:status = '' OR status = :status) AND id LIKE '%' || :text || '%' ESCAPE '\\' "
    "AND id LIKE '%' || :ending ESCAPE '\\' AND (id || '/') LIKE :source || '%' ESCAPE '\\'"
)


_PAGE, _NUMBER = re.compile(r"^page \d+\b"), re.compile(r"(?<![\w-])\d+(?:[,.]\d+)*")


class StepFacts(NamedTuple):
    """What a step wrote to the manifest about a file."""

    item_id: str
    kind: str
    """The kind of the file, such as `document:pdf`."""
    extras: dict[str, Any]


class FileStep(NamedTuple):
    """What a step last did with a file."""

    step: str
    duration_ms: float
    extras: dict[str, Any]
    attempts: int
    message: str
    """Of its failure; empty: it succeeded."""
    warnings: list[str]


class FileStatus(msgspec.Struct):
    """A file, and what became of it."""

    id: str
    status: str
    """`read`, `failed`, `not read` or `copy`."""
    note: str
    """The error, why it is not read, or which file it is a copy of."""
    is_code: bool
    """Whether it is source code, and not a document."""


def count_done(library: LibraryReader, step: str) -> int:
    """Return how many files a step succeeded with."""
    with library.snapshot() as connection:
        return int(connection.execute(_COUNT, {"step": step}).fetchone()[0])


def count_failed(library: LibraryReader, step: str) -> Counter[str]:
    """Return how many files a step failed with, by category."""
    with library.snapshot() as connection:
        return Counter(dict(connection.execute(_FAILED, {"step": step}).fetchall()))


def count_warnings(library: LibraryReader, step: str) -> Counter[str]:
    """Return how many files a step read with each kind of warning: `N` stands for the numbers in them."""
    with library.snapshot() as connection:
        rows = connection.execute(_WARNED, {"step": step, "name": WARNINGS.encode()}).fetchall()
    found: Counter[str] = Counter()
    for (extras,) in rows:
        found.update({_NUMBER.sub("N", _PAGE.sub("a page", warning)) for warning in _decode(extras).get(WARNINGS, [])})
    return found


def list_facts(library: LibraryReader, step: str) -> Iterator[StepFacts]:
    """Yield what a step wrote to the manifest about each file that it succeeded with."""
    after = -1
    while True:
        with library.snapshot() as connection:
            page = connection.execute(_DONE, {"step": step, "after": after}).fetchall()
        for _, item_id, kind, extras in page:
            yield StepFacts(item_id, kind, _decode(extras))
        if len(page) < PAGE:
            return
        after = page[-1][0]


def list_not_read(library: LibraryReader) -> Iterator[tuple[str, str]]:
    """Yield the reason and the id of each file that is not read, in the order of ids."""
    last = ""
    query = (
        f"SELECT reason, item_id FROM items WHERE reason IS NOT NULL AND copy_of IS NULL AND {COUNTED} "
        f"AND item_id > ? ORDER BY item_id LIMIT {PAGE}"
    )
    while True:
        with library.snapshot() as connection:
            page = connection.execute(query, (last,)).fetchall()
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1][1]


class FileState(NamedTuple):
    """What a step last did with a file; or, without a step, that the file is a copy or is not read."""

    item_id: str
    path: str
    sha256: bytes
    reason: str
    copy_of: str
    step: str
    settings: str
    duration_ms: float
    run_id: str
    category: str
    """Of its failure; empty: it succeeded."""
    message: str
    attempts: int
    detail: str
    warnings: list[str]


_STATES = f"""
WITH page AS (
    SELECT id, item_id, path, sha256, reason, copy_of FROM items
    WHERE removed = 0 AND kind NOT GLOB 'part:*' AND (kind NOT GLOB 'archive:*' OR {_FAILURE} IS NOT NULL)
    AND item_id > :after ORDER BY item_id LIMIT {PAGE}
), keys AS (
    SELECT page.id AS item, states.id AS key FROM page CROSS JOIN states
    ON states.id BETWEEN page.id * {STEPS_MAX} AND page.id * {STEPS_MAX} + {STEPS_MAX - 1}
    UNION SELECT page.id, failures.id FROM page CROSS JOIN failures
    ON failures.id BETWEEN page.id * {STEPS_MAX} AND page.id * {STEPS_MAX} + {STEPS_MAX - 1}
)
SELECT item_id, path, COALESCE(sha256, x''), COALESCE(reason, ''), COALESCE(copy_of, ''), COALESCE(steps.name, ''),
    COALESCE(settings.hash, ''), COALESCE(duration_ms, 0), COALESCE(run_id, ''), COALESCE(category, ''),
    COALESCE(message, ''), COALESCE(attempts, 1), COALESCE(detail, ''), extras
FROM page LEFT JOIN keys ON keys.item = page.id LEFT JOIN states ON states.id = key
LEFT JOIN failures ON failures.id = key LEFT JOIN steps ON steps.id = key % {STEPS_MAX}
LEFT JOIN settings ON settings.id = states.settings
LEFT JOIN runs ON runs.id = COALESCE(failures.run, states.run)
ORDER BY item_id, key
"""


def list_states(library: LibraryReader) -> Iterator[FileState]:
    """Yield what each step last did with each file that is there, in the order of ids and steps."""
    last = ""
    while True:
        with library.snapshot() as connection:
            page = connection.execute(_STATES, {"after": last}).fetchall()
        for item_id, path, *rest in page:
            extras = _decode(rest[-1])
            yield FileState._make((item_id, decode_path(path), *rest[:-1], extras.get(WARNINGS, [])))
        if not page:
            return
        last = page[-1][0]


def read_states(library: LibraryReader, item_id: str) -> list[FileStep]:
    """Return what each step did with a file; none: it is not known, or no step has reached it."""
    with library.snapshot() as connection:
        row = connection.execute("SELECT id FROM items WHERE item_id = ? AND removed = 0", (item_id,)).fetchone()
        return [] if row is None else list(_read_states(connection, row[0]))


def _read_states(connection: sqlite3.Connection, item: int) -> Iterator[FileStep]:
    first = item * STEPS_MAX
    done = connection.execute(
        "SELECT states.id, duration_ms, extras FROM states WHERE states.id BETWEEN ? AND ?",
        (first, first + STEPS_MAX - 1),
    )
    failed = connection.execute(
        "SELECT id, attempts, message FROM failures WHERE id BETWEEN ? AND ?", (first, first + STEPS_MAX - 1)
    )
    names = dict(connection.execute("SELECT id, name FROM steps").fetchall())
    states = {key: (duration, extras) for key, duration, extras in done}
    failures = {key: (attempts, message) for key, attempts, message in failed}
    for key in sorted({*states, *failures}):
        duration, extras = states.get(key, (0.0, None))
        attempts, message = failures.get(key, (1, ""))
        found = _decode(extras)
        warnings = found.pop(WARNINGS, [])
        yield FileStep(names[key % STEPS_MAX], duration, found, attempts, message, warnings)


def list_statuses(
    library: LibraryReader,
    *,
    status: str = "",
    text: str = "",
    ending: str = "",
    source: str = "",
    after: str = "",
    count: int = PAGE,
) -> tuple[list[FileStatus], int]:
    """Return files in the order of their ids, those that follow `after`; and the number of all that meet the
    conditions. `text` is a part of the id, `ending` its end, `source` the name of the source."""
    conditions = {"text": text, "ending": ending, "source": f"{source}/" if source else ""}
    values = {"status": status} | {name: _escape(value) for name, value in conditions.items()}
    matching = f"FROM ({_LISTED}) WHERE {_MATCHING}"
    query = f"SELECT id, status, note, is_code {matching} AND id > :after ORDER BY id LIMIT :count"
    with library.snapshot() as connection:
        rows = connection.execute(query, values | {"after": after, "count": count}).fetchall()
        [total] = connection.execute(f"SELECT COUNT(*) {matching}", values).fetchone()
    return [FileStatus(item_id, status, note, bool(is_code)) for item_id, status, note, is_code in rows], total


def count_ids(library: LibraryReader, name_group: Callable[[str], str]) -> Counter[str]:
    """Count all files by a group that their ids are in."""
    with library.snapshot() as connection:
        return Counter(name_group(item_id) for (item_id,) in connection.execute(f"SELECT id FROM ({_LISTED})"))


def _escape(text: str) -> str:
    """Escape a text for LIKE."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _decode(extras: bytes | None) -> dict[str, Any]:
    return {} if extras is None else msgspec.msgpack.decode(extras, type=dict[str, Any])
