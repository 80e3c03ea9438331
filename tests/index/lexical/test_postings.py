"""The inverted index: the same scores, however the chunks came into it."""

import random
import sqlite3
from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.index.lexical import postings
from inorder.index.lexical.check import is_inverted_index_intact
from inorder.index.lexical.postings import (
    Postings,
    add_chunks,
    decode_postings,
    encode_postings,
    invert_pending,
    merge_segments,
    next_chunk_id,
    read_segments,
    remove_chunks,
)
from inorder.index.lexical.schema import SCHEMA
from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.lexical.terms import count_chunk_terms, encode_terms

WORDS = "lamp wick fog horn bell coast keeper oil lens tide".split()  # noqa: SIM905


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    found = sqlite3.connect(":memory:")
    found.executescript(f"CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER);{SCHEMA}")
    yield found
    found.close()


def add(connection: sqlite3.Connection, file: int, *texts: str) -> None:
    first = next_chunk_id(connection)
    connection.executemany("INSERT INTO chunks VALUES (?, ?)", ((first + at, file) for at in range(len(texts))))
    terms = [encode_terms(count_chunk_terms(text, f"head{file}", "en")) for text in texts]
    add_chunks(connection, enumerate(terms, first))


def remove(connection: sqlite3.Connection, file: int) -> None:
    remove_chunks(connection, file)
    connection.execute("DELETE FROM chunks WHERE file = ?", (file,))


def scores(connection: sqlite3.Connection, *words: str) -> dict[int, list[float]]:
    """The scores of the chunks of each file that has any."""
    index = LexicalIndex(connection)
    body, head = index.score([TermGroup((word,)) for word in words])
    found = body + head / 2
    by_file: dict[int, list[float]] = {}
    for chunk, score in zip(index.chunks, found, strict=True):
        row = connection.execute("SELECT file FROM chunks WHERE id = ?", (int(chunk),)).fetchone()
        if row is not None:
            by_file.setdefault(row[0], []).append(float(score))
        else:
            assert score == 0
    return by_file


def is_intact(connection: sqlite3.Connection, texts: dict[int, list[str]]) -> bool:
    found = []
    for file, each in texts.items():
        ids = connection.execute("SELECT id FROM chunks WHERE file = ? ORDER BY id", (file,)).fetchall()
        terms = [encode_terms(count_chunk_terms(text, f"head{file}", "en")) for text in each]
        found += [(id_, data) for (id_,), data in zip(ids, terms, strict=True)]
    return is_inverted_index_intact(connection, found)


@given(st.sets(st.integers(0, 200_000), min_size=1, max_size=50), st.booleans())
def test_postings_are_read_as_they_were_written(numbers: set[int], has_head: bool) -> None:
    ordered = np.array(sorted(numbers), np.int64)
    body = np.arange(len(ordered), dtype=np.uint8)
    written = Postings(ordered, body, body if has_head else np.zeros_like(body))
    read = decode_postings(encode_postings(written), len(ordered))
    assert all((ours == theirs).all() for ours, theirs in zip(written, read, strict=True))


@pytest.mark.req("IDX-3")
@pytest.mark.parametrize("seed", range(20))
def test_scores_do_not_depend_on_the_order_of_changes(
    connection: sqlite3.Connection, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "SEGMENTS_MAX", 2)
    chance = random.Random(seed)
    texts: dict[int, list[str]] = {}
    files = count()
    for _ in range(40):
        act = chance.random()
        if act < 0.5 or not texts:
            file = next(files)
            texts[file] = [" ".join(chance.choices(WORDS, k=chance.randint(0, 9))) for _ in range(chance.randint(0, 3))]
            add(connection, file, *texts[file])
        elif act < 0.75:
            file = chance.choice(list(texts))
            remove(connection, file)
            del texts[file]
        elif act < 0.9:
            invert_pending(connection)
        else:
            invert_pending(connection)
            merge_segments(connection)
    invert_pending(connection)
    assert is_intact(connection, texts)
    fresh = sqlite3.connect(":memory:")
    fresh.executescript(f"CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER);{SCHEMA}")
    for file in reversed(texts):
        add(fresh, file, *texts[file])
    invert_pending(fresh)
    assert scores(connection, "lamp", "horn", "head3") == scores(fresh, "lamp", "horn", "head3")
    fresh.close()


def test_a_posting_that_was_altered_is_noticed(connection: sqlite3.Connection) -> None:
    add(connection, 1, "lamp wick", "fog")
    invert_pending(connection)
    assert is_intact(connection, {1: ["lamp wick", "fog"]})
    connection.execute("DELETE FROM postings WHERE term = 'fog'")
    assert not is_intact(connection, {1: ["lamp wick", "fog"]})


def test_chunks_are_inverted_before_many_of_them_wait(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "BATCH_CHUNKS_MAX", 4)
    for file in range(20):
        add(connection, file, "lamp")
        [[waiting]] = connection.execute("SELECT COUNT(*) FROM pending").fetchall()
        assert waiting <= 4
    assert len(read_segments(connection)) == 4


def test_a_small_change_leaves_the_large_segment_alone(connection: sqlite3.Connection) -> None:
    add(connection, 0, *["lamp"] * 100)
    invert_pending(connection)
    [large] = read_segments(connection)
    for file in range(1, 12):
        add(connection, file, "horn")
        invert_pending(connection)
        merge_segments(connection)
        assert read_segments(connection)[0].id == large.id
        assert len(read_segments(connection)) <= postings.SEGMENTS_MAX
    add(connection, 12, *["bell"] * 50)
    invert_pending(connection)
    merge_segments(connection)
    [merged] = read_segments(connection)
    assert len(merged.chunks) == 161


def test_an_id_is_not_used_again(connection: sqlite3.Connection) -> None:
    add(connection, 0, "lamp", "wick")
    invert_pending(connection)
    remove(connection, 0)
    add(connection, 1, "horn")
    invert_pending(connection)
    assert scores(connection, "lamp") == {1: [0.0]}
    assert scores(connection, "horn")[1][0] > 0


@pytest.mark.req("SEA-1")
def test_forms_of_a_word_count_as_one_and_a_short_word_finds_what_begins_with_it(
    connection: sqlite3.Connection,
) -> None:
    add(connection, 0, "lamp", "wick", "海岸 海洋", "fog")
    invert_pending(connection)
    index = LexicalIndex(connection)
    both, _ = index.score([TermGroup(("lamp", "wick"))])
    assert both[0] == both[1] > 0 == both[3]
    beginning, _ = index.score([TermGroup(("海",), is_prefix=True)])
    assert (beginning > 0).tolist() == [False, False, True, False]
