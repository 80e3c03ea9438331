"""The answers of models, in one SQLite file.

An answer that was kept is never paid for again, whatever happens to the run: it is durable when `keep` returns. Many
requests end at the same time, and a disk syncs a few hundred times per second at most. So one thread writes, and what
arrives while it waits for the disk is in its next transaction.

An answer is kept under the key of its question, and beside it is the content that was sent: the same page in another
file is found by it. Nothing of the content itself is in the file, and what refers to a removed answer goes with it.

The file may be shared by several DATA and by several runs at the same time. Only its owner may read it, because it has
the text of documents.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import msgspec

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.database import connect_to_read
from inorder.host.os_errors import translate_os_errors
from inorder.host.regular_file import open_descriptor, require_regular_database
from inorder.sinks.sqlite import translate_sqlite_error

from .question import Question

NAME = "answers.sqlite"
"""The file in DATA."""
_APPLICATION_ID = 0x696E6F41
_FORMAT = 1
_LOCKED_S = 60.0
"""How long another run may write."""
_KEYS_MAX = 500
_SCHEMA = """
CREATE TABLE questions (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, parameters TEXT NOT NULL,
    UNIQUE (model, prompt, parameters)
);
CREATE TABLE answers (
    key BLOB PRIMARY KEY, question INTEGER NOT NULL REFERENCES questions, input_key TEXT NOT NULL, text TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, finish_reason TEXT NOT NULL, seconds REAL NOT NULL,
    refused TEXT NOT NULL, kept_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX answers_by_input ON answers (input_key);
CREATE INDEX answers_by_question ON answers (question);
"""
_CONTENTS = """
CREATE TABLE IF NOT EXISTS contents (key BLOB PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS contents_by_content ON contents (content);
CREATE TRIGGER IF NOT EXISTS contents_follow AFTER DELETE ON answers
    BEGIN DELETE FROM contents WHERE key = old.key; END;
"""
"""Files that were made before have no such table, and programs that do not know it keep it right."""
_FIND = """
SELECT answers.key, text, tokens_in, tokens_out, finish_reason, model, seconds
FROM answers JOIN questions ON questions.id = question WHERE refused {} '' AND answers.key IN ({})
"""
_FIND_CONTENT = """
SELECT answers.key, text, tokens_in, tokens_out, finish_reason, model, seconds
FROM contents JOIN answers USING (key) JOIN questions ON questions.id = question
WHERE content = ? ORDER BY refused != '', kept_at LIMIT 1
"""
_KEEP = """
INSERT INTO answers SELECT ?1, id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM questions
WHERE (model, prompt, parameters) = (?10, ?11, ?12)
ON CONFLICT (key) DO UPDATE SET text = excluded.text, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out,
    finish_reason = excluded.finish_reason, seconds = excluded.seconds, refused = ''
WHERE answers.refused != '' AND excluded.refused = ''
"""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model has answered.

    >>> Answer(text="lamp", tokens_in=12, tokens_out=1, finish_reason="stop", model="m", seconds=0.5).text
    'lamp'
    """

    text: str
    tokens_in: int
    tokens_out: int
    finish_reason: str
    """`stop`, `length` if it was cut off, or what else the server says."""
    model: str
    seconds: float
    """From the request to its answer."""


class _Writing:
    """A change that somebody waits for."""

    def __init__(self, change: Callable[[sqlite3.Connection], Any]) -> None:
        self.change = change
        self.ended = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None


class AnswerStore:
    """The answers in a file, which is created if it does not exist. Thread-safe; close it in the end.

    >>> import os, tempfile
    >>> question = Question(model="m", prompt="Read it.")
    >>> answer = Answer(text="lamp", tokens_in=12, tokens_out=1, finish_reason="stop", model="m", seconds=0.5)
    >>> with tempfile.TemporaryDirectory() as folder, AnswerStore(os.path.join(folder, "answers.sqlite")) as store:
    ...     store.keep(question, answer)
    ...     store.find([question.key])[question.key] == answer
    True
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        with translate_os_errors(f"{path} cannot be opened"):
            if os.path.exists(path):
                require_regular_database(path)
            _restrict(path)
        self._reading = threading.Lock()
        self._changed = threading.Condition()
        self._waiting: list[_Writing] = []
        self._is_closed = False
        with translate_errors(path, "it cannot be opened"):
            self._writer = connect_answers(path)
            try:
                _prepare(self._writer, path)
                self._reader = connect_answers(path)
            except BaseException:
                self._writer.close()
                raise
        self._thread = threading.Thread(target=self._write_all, name="inorder-answers", daemon=True)
        self._thread.start()

    def find(self, keys: Iterable[str], *, refused: bool = False) -> dict[str, Answer]:
        """Return those answers that are kept, by the key of their question: those that were accepted, or those that
        were not."""
        with self._reading, translate_errors(self.path, "it cannot be read"):
            return _find(self._reader, list(keys), refused=refused)

    def find_content(self, content: str) -> Answer | None:
        """Return the answer to a question about the same content, if there is one; rather one that was accepted."""
        with self._reading, translate_errors(self.path, "it cannot be read"):
            found = _decode(self._reader.execute(_FIND_CONTENT, (bytes.fromhex(content),)))
        return next(iter(found.values()), None)

    def keep(self, question: Question, answer: Answer, refused: str = "", content: str = "") -> None:
        """Keep an answer, with the reason if it was not accepted. It is durable when this returns. The first answer to
        a question stays, but one that was accepted replaces one that was not. `content` is the key of the same question
        about what was sent."""
        row = (
            bytes.fromhex(question.key),
            question.input_key,
            answer.text,
            answer.tokens_in,
            answer.tokens_out,
            answer.finish_reason,
            answer.seconds,
            refused,
            self._clock(),
        )
        asked = (question.model, question.prompt, _encode(question.parameters))

        def add(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO questions (model, prompt, parameters) VALUES (?, ?, ?)", asked)
            connection.execute(_KEEP, (*row, *asked))
            if content:
                connection.execute("INSERT OR REPLACE INTO contents VALUES (?, ?)", (row[0], bytes.fromhex(content)))

        self._write(add)

    @property
    def waiting(self) -> int:
        """How many answers wait for the next transaction."""
        with self._changed:
            return len(self._waiting)

    def close(self) -> None:
        """Write what was handed in, and close the file. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()
        self._writer.close()
        with self._reading:
            self._reader.close()

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- Writing

    def _write(self, change: Callable[[sqlite3.Connection], Any]) -> Any:
        """Make a change, and wait until it is durable."""
        writing = _Writing(change)
        with self._changed:
            if self._is_closed:
                raise InfrastructureError(f"{self.path} was closed")
            self._waiting.append(writing)
            self._changed.notify()
        writing.ended.wait()
        if writing.error is not None:
            raise writing.error
        return writing.value

    def _write_all(self) -> None:
        """The thread that writes."""
        while True:
            with self._changed:
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                portion, self._waiting = self._waiting, []
            if not portion:
                return
            self._write_portion(portion)

    def _write_portion(self, portion: Sequence[_Writing]) -> None:
        """Make several changes in one transaction: all or none."""
        try:
            with translate_errors(self.path, "an answer cannot be written"):
                self._writer.execute("BEGIN IMMEDIATE")
                for writing in portion:
                    writing.value = writing.change(self._writer)
                self._writer.execute("COMMIT")
        except BaseException as error:
            if self._writer.in_transaction:
                self._writer.rollback()
            for writing in portion:
                writing.error = error
        for writing in portion:
            writing.ended.set()


def find_kept(path: str, keys: Iterable[str]) -> Mapping[str, Answer]:
    """Return those answers that a file has and that were accepted, by the key of their question. There may be no
    file."""
    if not os.path.exists(path):
        return {}
    with open_to_read(path) as connection:
        return _find(connection, list(keys))


@contextmanager
def open_to_read(path: str) -> Iterator[sqlite3.Connection]:
    """Open a file with answers for a while. Raises OperatorError if it is none."""
    with translate_os_errors(f"{path} cannot be opened"):
        require_regular_database(path)
    with translate_errors(path, "it cannot be read"), closing(connect_to_read(path, _connect_reader)) as connection:
        _check_format(connection, path)
        yield connection


def _connect_reader(uri: str, locking_mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_LOCKED_S, isolation_level=None)
    try:
        connection.execute(f"PRAGMA locking_mode={locking_mode}")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _find(connection: sqlite3.Connection, keys: Sequence[str], *, refused: bool = False) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for start in range(0, len(keys), _KEYS_MAX):
        portion = [bytes.fromhex(key) for key in keys[start : start + _KEYS_MAX]]
        query = _FIND.format("!=" if refused else "=", ",".join("?" * len(portion)))
        found |= _decode(connection.execute(query, portion))
    return found


def _decode(rows: Iterable[tuple[Any, ...]]) -> dict[str, Answer]:
    """Return answers by the key of their question."""
    return {
        key.hex(): Answer(
            text=text,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            finish_reason=finish_reason,
            model=model,
            seconds=seconds,
        )
        for key, text, tokens_in, tokens_out, finish_reason, model, seconds in rows
    }


def _restrict(path: str) -> None:
    """Create a file that only its owner can read, or make it one."""
    descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _encode(parameters: Mapping[str, Any]) -> str:
    return msgspec.json.encode(parameters, order="deterministic").decode()


def connect_answers(path: str) -> sqlite3.Connection:
    """Return a connection whose commits are durable."""
    connection = sqlite3.connect(path, timeout=_LOCKED_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")  # with a write-ahead log: each commit is synced
    return connection


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables, unless another process has."""
    [mode] = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise InfrastructureError(f"{path}: no write-ahead log is possible here, only {mode!r}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        [tables] = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if not tables:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={_FORMAT}")
        _check_format(connection, path)
        for statement in _CONTENTS.split(";\n"):
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise


def _check_format(connection: sqlite3.Connection, path: str) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise OperatorError(f"{path} is a database, but not one with answers of models; choose another with --answers")
    if version != _FORMAT:
        raise OperatorError(f"{path} has format {version}, and this version of inorder reads format {_FORMAT}")


@contextmanager
def translate_errors(path: str, doing: str) -> Iterator[None]:
    """Raise an error of SQLite in the body as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate_sqlite_error(error, path, doing) from error
