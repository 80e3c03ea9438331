"""Write what visits made of files, in the transaction of a commit.

What is written is not visible: it is `since` a later epoch. What it replaces is visible until then, and is removed
after that (see `generations`). A result that was never visible and is replaced again is removed at once.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from inorder.errors import InvariantViolation
from inorder.index.calls import insert_calls

from .codec import TextBlock
from .contents import encode_path, find_result_damage, find_rows_damage
from .removal import remove_result, remove_rows
from .row_buffer import RowBuffer
from .rows import CHUNK, DENSE, INDEX, SPARSE, FileIdentity, FileResult, SearchRows, StepFailure, StepResult
from .runs import find_run
from .schema import FOREVER, STEPS_MAX, TEXT_BLOCKS_MAX, held_epoch, next_epoch
from .terms import TermQueue
from .totals import FamilySummary, PendingTotals, count_family, count_rows, hash_result, read_difference

_ENCODER = msgspec.msgpack.Encoder()
_SUMMARY = msgspec.msgpack.Decoder(FamilySummary)


class _Owned(NamedTuple):
    """A result of an item."""

    id: int
    step: int
    since: int
    until: int
    output: bytes
    summary: bytes | None
    is_rows: bool
    counts: dict[str, int]


class FileWriter:
    """Writes results of visits, in the transactions of its caller. After one that failed, another writer is needed."""

    def __init__(self, connection: sqlite3.Connection, run_id: str = "") -> None:
        self._connection = connection
        self._run_id = run_id
        self.terms = TermQueue(connection)
        self._totals = PendingTotals()
        self.epoch: int = connection.execute("SELECT epoch FROM generation").fetchone()[0]
        counts = read_difference(connection, self.epoch).counts
        self._chunks_before = sum(count for name, count in counts.items() if name.startswith("chunks/"))
        self._chunks_added = 0
        self._steps: dict[str, int] = dict(connection.execute("SELECT name, id FROM steps").fetchall())
        self._names = {id_: name for name, id_ in self._steps.items()}
        self._settings: dict[tuple[str, str], int] = {}
        """The numbers of settings, by step and hash."""
        self._run: int | None = None
        self._rows = RowBuffer(connection)
        self._waiting: set[int] = set()
        """The items that own rows of the buffer."""
        query = "SELECT COALESCE(MAX(id), 0) + 1 FROM items"
        self._next_item: int = connection.execute(query).fetchone()[0]
        [last] = connection.execute(
            "SELECT max(COALESCE((SELECT MAX(id) FROM results), 0), COALESCE((SELECT MAX(id) FROM searchable), 0), "
            f"COALESCE((SELECT MAX(id) FROM texts), 0) / {TEXT_BLOCKS_MAX})"
        ).fetchone()
        self._next_id: int = last + 1
        """Of a result. Texts are named by it, so it is above that of every text, too."""

    def write(self, results: Sequence[FileResult]) -> None:
        """Write what visits made."""
        known = self._find_items([result.file.item_id for result in results])
        for result in results:
            self._write_file(result, known)
        self._flush()
        self._totals.store(self._connection)

    def _flush(self) -> None:
        self._rows.flush()
        self._waiting.clear()

    def _find_items(self, item_ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those of these items that the library knows."""
        listed = msgspec.json.encode(item_ids).decode()
        query = "SELECT item_id, items.id FROM json_each(?) CROSS JOIN items ON item_id = value"
        return dict(self._connection.execute(query, (listed,)).fetchall())

    def is_bulk(self, least: int) -> bool:
        """Whether at least so many chunks were added, and as many as there were before."""
        return self._chunks_added > max(least, self._chunks_before)

    def find_step(self, name: str) -> int:
        """Return the number of a step, which is new if the library does not know it."""
        found = self._steps.get(name)
        if found is None:
            found = len(self._steps)
            if found >= STEPS_MAX:
                raise InvariantViolation(f"a library has at most {STEPS_MAX} steps; {name!r} is one more")
            self._connection.execute("INSERT INTO steps VALUES (?, ?)", (found, name))
            self._steps[name], self._names[found] = found, name
        return found

    def find_settings(self, step: str, hash_: str, parts: Mapping[str, str] | None = None) -> int:
        """Return the number of the settings of a step. `parts` has the hash or value of each part of them."""
        found = self._settings.get((step, hash_))
        if found is None or parts:
            key = self.find_step(step), hash_
            listed = msgspec.json.encode(parts or {}, order="deterministic").decode()
            self._connection.execute(
                "INSERT INTO settings (step, hash, parts) VALUES (?, ?, ?) ON CONFLICT (step, hash) "
                "DO UPDATE SET parts = excluded.parts WHERE excluded.parts != '{}'",
                (*key, listed),
            )
            query = "SELECT id FROM settings WHERE step = ? AND hash = ?"
            found = self._settings[step, hash_] = int(self._connection.execute(query, key).fetchone()[0])
        return found

    # ---- Files

    def _write_file(self, result: FileResult, known: dict[str, int]) -> None:
        """Write a file. `known` has the numbers of items, and gets that of a new one."""
        item = known.get(result.file.item_id)
        if item in self._waiting:
            self._flush()
        epoch = held_epoch(self.epoch) if result.is_held else next_epoch(self.epoch)
        if result.is_removed:
            if item is not None:
                self._remove_item(result.file.item_id, item, epoch)
            return
        visit = _FileWrite(
            item or self._next_item, result.file.item_id, epoch, self._list_owned(item) if item else None
        )
        if item is None:
            known[result.file.item_id] = self._next_item
            self._next_item += 1
        self._put_item(visit, result.file)
        for step in result.steps:
            self._put_result(visit, step)
            if step.step == INDEX and result.rows is not None:
                self._put_rows(visit, step, result.rows)
        if result.drops:
            self._drop_states(visit, {self.find_step(name) for name in result.drops})
        if result.failure is not None:
            self._put_failure(visit, result.failure)
        elif not result.file.has_results:
            self._drop_states(visit, None)
        self._waiting.add(visit.item)
        if visit.is_changed:
            self._rows.add("pending", (epoch, visit.item, visit.replaces))

    def _put_item(self, visit: "_FileWrite", file: FileIdentity) -> None:
        """Insert or update the row of a file."""
        values = (
            file.kind,
            encode_path(file.path),
            file.signature or None,
            file.sha256 or None,
            file.size,
            file.reason or None,
            file.copy_of or None,
            file.parent or None,
            file.pages_without_text,
        )
        if visit.is_new:
            self._rows.add("items", (visit.item, file.item_id, *values, 0))
            return
        self._connection.execute(
            "UPDATE items SET kind = ?, path = ?, signature = ?, sha256 = ?, size = ?, reason = ?, copy_of = ?, "
            "parent = ?, pages_without_text = ?, removed = 0 WHERE id = ?",
            (*values, visit.item),
        )

    def _remove_item(self, item_id: str, item: int, epoch: int) -> None:
        """Remove a file with everything that it owns. What is visible of it stays until the epoch."""
        self._drop_states(_FileWrite(item, item_id, epoch, self._list_owned(item)), None)
        self._connection.execute("UPDATE items SET removed = 1 WHERE id = ?", (item,))
        self._rows.add("pending", (epoch, item, True))

    # ---- Steps

    def _put_result(self, visit: "_FileWrite", result: StepResult) -> None:
        """Write the state of a step and its content, unless its content is the same as before."""
        step = self.find_step(result.step)
        key = visit.item * STEPS_MAX + step
        self._rows.add(
            "states",
            (
                key,
                self.find_settings(result.step, result.settings),
                result.input,
                result.output,
                result.duration_ms,
                self._find_run(),
                _ENCODER.encode(result.extras) if result.extras else None,
            ),
        )
        if not visit.is_new:
            self._connection.execute("DELETE FROM failures WHERE id = ?", (key,))
        content = result.content
        if content is None:
            return
        if any(each.output == result.output and self._fits(each.id, result) for each in visit.find_latest(step)):
            return
        self._retire(visit, visit.list_owned(step))
        number = self._take_id()
        is_vectors = result.step in (DENSE, SPARSE)
        self._rows.add(
            "results",
            (
                number,
                key,
                visit.epoch,
                FOREVER,
                result.input if is_vectors else None,
                result.output,
                content.codec,
                content.size,
                content.checksum,
                _encode_summary(result),
                content.data,
            ),
        )
        self._put_texts(number, result.texts)
        if result.step == CHUNK:
            visit.texts = number
        counts = {} if result.summary is None else count_family(result.step, result.summary)
        self._count(visit, visit.epoch, result.step, result.output, counts)

    def _fits(self, number: int, result: StepResult) -> bool:
        """Whether a result with the same content can stay: it is not damaged. Vectors belong to the chunks that they
        were made of."""
        [input_] = self._connection.execute("SELECT input FROM results WHERE id = ?", (number,)).fetchone()
        if result.step in (DENSE, SPARSE) and input_ != result.input:
            return False
        return not find_result_damage(self._connection, number, result.step, result.output)

    def _put_texts(self, owner: int, blocks: Sequence[TextBlock]) -> None:
        for block in blocks:
            self._rows.add("texts", (owner * TEXT_BLOCKS_MAX + block.first, block.checksum, block.data))

    def _put_rows(self, visit: "_FileWrite", result: StepResult, rows: SearchRows) -> None:
        """Write the rows of a file in the index, unless they are the same as before and of the same texts."""
        step = self.find_step(INDEX)
        texts = 0 if rows.texts else visit.texts or self._find_texts(visit)
        output = bytes.fromhex(rows.digest)
        for each in visit.find_latest(step):
            is_same = each.output == output and (not texts or self._has_texts(each.id, texts))
            if is_same and not find_rows_damage(self._connection, each.id, rows.digest):
                return
        self._retire(visit, visit.list_owned(step))
        number = self._take_id()
        self._chunks_added += len(rows.chunks)
        first = self.terms.add(rows.terms, len(rows.chunks), visit.epoch)
        self._rows.add(
            "searchable",
            (
                number,
                visit.item,
                visit.epoch,
                FOREVER,
                first,
                len(rows.chunks),
                texts or number,
                rows.kind,
                rows.language,
                rows.lines,
                rows.note,
                result.input,
                rows.digest,
                _encode_summary(result),
            ),
        )
        self._put_texts(number, rows.texts)
        for n, chunk in enumerate(rows.chunks):
            place = first + n, chunk.chunk_id, number, n
            self._rows.add(
                "chunk_rows", (*place, chunk.kind, chunk.name, chunk.context, chunk.start, chunk.end, chunk.pages)
            )
        for n, symbol in enumerate(rows.symbols):
            self._rows.add("symbols", (number, n, *msgspec.structs.astuple(symbol)))
        for n, imported in enumerate(rows.imports):
            self._rows.add("imports", (number, n, *msgspec.structs.astuple(imported)))
        if rows.calls is not None:
            insert_calls(self._connection, number, rows.calls)
        self._count(visit, visit.epoch, INDEX, output, count_rows(rows.kind, rows.language, len(rows.chunks)))

    def _put_failure(self, visit: "_FileWrite", failure: StepFailure) -> None:
        """Write why a step failed. Unless the file is not to blame, it loses the results of that step and of those
        after it."""
        step = self.find_step(failure.step)
        key = visit.item * STEPS_MAX + step
        if not failure.is_outside:
            self._drop_states(visit, {step, *map(self.find_step, failure.removes)})
            settings = self.find_settings(failure.step, failure.settings)
            state = key, settings, failure.input, None, failure.duration_ms, self._find_run(), None
            self._rows.add("states", state)
        self._rows.add(
            "failures",
            (
                key,
                failure.category,
                failure.message,
                failure.detail,
                failure.attempts,
                failure.is_outside,
                self._find_run(),
            ),
        )

    def _drop_states(self, visit: "_FileWrite", steps: set[int] | None) -> None:
        """Remove the states of some steps, or of all, and retire their results."""
        self._retire(visit, [each for each in visit.owned if steps is None or each.step in steps])
        if visit.is_new:
            return
        first = visit.item * STEPS_MAX
        for table in ("states", "failures"):
            if steps is None:
                query = f"DELETE FROM {table} WHERE id BETWEEN ? AND ?"
                self._connection.execute(query, (first, first + STEPS_MAX - 1))
            else:
                keys = [(first + step,) for step in steps]
                self._connection.executemany(f"DELETE FROM {table} WHERE id = ?", keys)

    # ---- What an item owns

    def _list_owned(self, item: int) -> list[_Owned]:
        first = item * STEPS_MAX
        found = [
            _Owned(id_, key - first, since, until, output, summary, False, {})
            for id_, key, since, until, output, summary in self._connection.execute(
                "SELECT id, key, since, until, output, summary FROM results WHERE key BETWEEN ? AND ?",
                (first, first + STEPS_MAX - 1),
            )
        ]
        index = self._steps.get(INDEX, -1)
        for id_, since, until, digest, summary, *facts in self._connection.execute(
            "SELECT id, since, until, digest, summary, kind, language, chunks FROM searchable WHERE item = ?", (item,)
        ):
            counts = count_rows(*facts)
            found.append(_Owned(id_, index, since, until, bytes.fromhex(digest), summary, True, counts))
        return found

    def _retire(self, visit: "_FileWrite", owned: Iterable[_Owned]) -> None:
        """Make results invisible from the epoch of a visit on. Those that were never visible are removed."""
        for each in owned:
            visit.owned.remove(each)
            if each.since > self.epoch:
                self._add(visit, each.since, each, -1)
                self._remove_unpublished(visit.item, each)
            elif each.until > visit.epoch:
                if each.until != FOREVER:
                    self._add(visit, each.until, each, 1)
                self._add(visit, visit.epoch, each, -1)
                visit.replaces = True
                table = "searchable" if each.is_rows else "results"
                self._connection.execute(f"UPDATE {table} SET until = ? WHERE id = ?", (visit.epoch, each.id))
                if each.is_rows:
                    self.terms.retire(each.id, visit.epoch)

    def _remove_unpublished(self, item: int, each: _Owned) -> None:
        if each.is_rows:
            self.terms.retire(each.id, 0)
            remove_rows(self._connection, item, each.id)
        else:
            remove_result(self._connection, item, each.id)

    def _add(self, visit: "_FileWrite", epoch: int, each: _Owned, times: int) -> None:
        """Add a result that the library has to the totals from an epoch on, or remove it from them."""
        name = self._names[each.step]
        counts = each.counts if each.summary is None else count_family(name, _SUMMARY.decode(each.summary))
        self._count(visit, epoch, name, each.output, counts, times)

    def _count(
        self, visit: "_FileWrite", epoch: int, step: str, output: bytes, counts: Mapping[str, int], times: int = 1
    ) -> None:
        visit.is_changed = True
        self._totals.add(epoch, hash_result(visit.item_id, step, output), counts, times)

    def _find_texts(self, visit: "_FileWrite") -> int:
        """Return the owner of the texts of the chunks of an item: its latest result of the step `chunk`."""
        step = self.find_step(CHUNK)
        return max((each.id for each in visit.owned if each.step == step), default=0)

    def _has_texts(self, rows: int, texts: int) -> bool:
        [found] = self._connection.execute("SELECT texts FROM searchable WHERE id = ?", (rows,)).fetchone()
        return bool(found == texts)

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _find_run(self) -> int:
        if self._run is None:
            self._run = find_run(self._connection, self._run_id)
        return self._run


class _FileWrite:
    """A file while it is written."""

    def __init__(self, item: int, item_id: str, epoch: int, owned: list[_Owned] | None) -> None:
        self.item = item
        self.item_id = item_id
        self.epoch = epoch
        self.owned = owned or []
        self.is_new = owned is None
        self.is_changed = False
        self.replaces = False
        """Whether something that is visible goes with its epoch."""
        self.texts = 0
        """The owner of the texts of its chunks, if this visit has written them."""

    def list_owned(self, step: int) -> list[_Owned]:
        """Return the results of a step."""
        return [each for each in self.owned if each.step == step]

    def find_latest(self, step: int) -> list[_Owned]:
        """Return the result of a step that nothing will replace, if it has one which becomes visible no later than what
        this visit writes."""
        return [each for each in self.list_owned(step) if each.until == FOREVER and each.since <= self.epoch]


def _encode_summary(result: StepResult) -> bytes | None:
    return None if result.summary is None else _ENCODER.encode(result.summary)
