"""What a file with answers has: listed, exported, removed, and what another prompt would ask again."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import msgspec

from .answers import connect_answers, open_to_read, translate_errors
from .question import Question

_JOINED = "FROM answers JOIN questions ON questions.id = question"
_INPUTS_MAX = 500
REFUSED = "refused"
"""The parameter of a question that was asked again: the reasons why its answers were not accepted."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which answers are meant: those to which all of this applies."""

    model: str = ""
    """A part of the address of their model."""
    refused: bool = False
    """Only those that were not accepted."""
    before: float | None = None
    """Only those that were kept before this time, in seconds since 1970."""

    def to_sql(self) -> tuple[str, list[Any]]:
        """Return the condition, and its values."""
        conditions, values = ["1"], list[Any]()
        if self.model:
            conditions.append("instr(model, ?) > 0")
            values.append(self.model)
        if self.refused:
            conditions.append("refused != ''")
        if self.before is not None:
            conditions.append("kept_at < ?")
            values.append(self.before)
        return " AND ".join(conditions), values


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of one model to one prompt."""

    model: str
    prompt: str
    parameters: dict[str, Any]
    answers: int
    refused: int
    tokens_in: int
    tokens_out: int
    first_at: float
    last_at: float


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """What would be asked with another prompt, as far as the answers to the present ones tell."""

    questions: int
    tokens_in: int
    tokens_out: int


def list_questions(path: str, selection: Selection) -> list[AskedQuestion]:
    """Return what models were asked, the latest last."""
    condition, values = selection.to_sql()
    query = (
        "SELECT model, prompt, parameters, COUNT(*), SUM(refused != ''), SUM(tokens_in), SUM(tokens_out), "
        f"MIN(kept_at), MAX(kept_at) {_JOINED} WHERE {condition} "
        "GROUP BY questions.id ORDER BY MAX(kept_at), questions.id"
    )
    with open_to_read(path) as connection:
        return [
            AskedQuestion(**dict(zip(AskedQuestion.__struct_fields__, _decode(row), strict=True)))
            for row in connection.execute(query, values)
        ]


def list_answers(path: str, selection: Selection) -> Iterator[dict[str, Any]]:
    """Yield all answers with their questions, the first that were kept first."""
    condition, values = selection.to_sql()
    names = (
        *("model", "prompt", "parameters", "key", "input_key", "text", "tokens_in", "tokens_out", "finish_reason"),
        *("seconds", "refused", "kept_at"),
    )
    query = f"SELECT {', '.join(names)} {_JOINED} WHERE {condition} ORDER BY kept_at, key"
    with open_to_read(path) as connection:
        for row in connection.execute(query, values):
            found = dict(zip(names, _decode(row), strict=True))
            yield found | {"key": found["key"].hex()}


def count_again(path: str, selection: Selection, prompt: str) -> Again:
    """Return what would be asked again if the prompt of these answers were another one. Inputs that have an answer to
    it already are not counted."""
    condition, values = selection.to_sql()
    query = (
        f"SELECT model, parameters, input_key, tokens_in, tokens_out {_JOINED} "
        f"WHERE {condition} AND refused = '' AND prompt != ? ORDER BY input_key"
    )
    counts = [0, 0, 0]
    with open_to_read(path) as connection:
        seen: set[bytes] = set()
        for model, parameters, input_key, tokens_in, tokens_out in connection.execute(query, [*values, prompt]):
            found = msgspec.json.decode(parameters)
            if REFUSED in found:  # it has the input of a question that was asked first
                continue
            question = Question(model=model, prompt=prompt, parameters=found, input_key=input_key)
            key = bytes.fromhex(question.key)
            if key not in seen and not _is_accepted(connection, key):
                seen.add(key)
                counts = [counts[0] + 1, counts[1] + tokens_in, counts[2] + tokens_out]
    return Again(questions=counts[0], tokens_in=counts[1], tokens_out=counts[2])


def list_files(path: str, selection: Selection) -> list[str]:
    """Return the SHA-256 of the files that answers are about, in hexadecimal."""
    condition, values = selection.to_sql()
    files = "SELECT DISTINCT substr(input_key, 1, 64)"
    query = f"{files} {_JOINED} WHERE {condition} AND instr(input_key, '#') = 65 ORDER BY 1"
    with open_to_read(path) as connection:
        return [sha256 for (sha256,) in connection.execute(query, values)]


def count_answers(path: str, selection: Selection, files: Sequence[str] | None = None) -> int:
    """Return how many answers there are, about these files or about anything."""
    with open_to_read(path) as connection:
        return sum(
            connection.execute(f"SELECT COUNT(*) {_JOINED} WHERE {condition}", values).fetchone()[0]
            for condition, values in _list_conditions(selection, files)
        )


def remove_answers(path: str, selection: Selection, files: Sequence[str] | None = None) -> int:
    """Remove answers about these files, or about anything, with their text, and return how many."""
    removed = 0
    with translate_errors(path, "answers cannot be removed"), closing(connect_answers(path)) as connection:
        connection.execute("PRAGMA secure_delete=ON")  # their text is overwritten
        connection.execute("BEGIN IMMEDIATE")
        for condition, values in _list_conditions(selection, files):
            query = f"DELETE FROM answers WHERE key IN (SELECT answers.key {_JOINED} WHERE {condition})"
            removed += connection.execute(query, values).rowcount
        connection.execute("DELETE FROM questions WHERE id NOT IN (SELECT question FROM answers)")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


def _list_conditions(selection: Selection, files: Sequence[str] | None) -> Iterator[tuple[str, list[Any]]]:
    condition, values = selection.to_sql()
    if files is None:
        yield condition, values
        return
    for start in range(0, len(files), _INPUTS_MAX):
        portion = files[start : start + _INPUTS_MAX]
        yield f"{condition} AND substr(input_key, 1, 64) IN ({','.join('?' * len(portion))})", [*values, *portion]


def _is_accepted(connection: sqlite3.Connection, key: bytes) -> bool:
    query = "SELECT 1 FROM answers WHERE key = ? AND refused = ''"
    return connection.execute(query, (key,)).fetchone() is not None


def _decode(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Decode the parameters, which are in the third column."""
    return (*row[:2], msgspec.json.decode(row[2]), *row[3:])
