"""The inverted index: the same scores, however the chunks came into it."""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from inorder.index.lexical import blocks, inversion
from inorder.index.lexical.blocks import PostingColumns, read_terms
from inorder.index.lexical.check import is_inverted_index_intact
from inorder.index.lexical.file_terms import FileTerms
from inorder.index.lexical.inversion import TermBuffer, merge_segments
from inorder.index.lexical.postings import IndexSegment, read_segments
from inorder.index.lexical.schema import SCHEMA as LEXICAL_SCHEMA
from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.lexical.terms import count_file_terms

try:
    from inorder.index.lexical._counter import PostingScorer
except ImportError:
    PostingScorer = None  # type: ignore[assignment, misc]

needs_compiler = pytest.mark.skipif(PostingScorer is None, reason="inorder was built without a C compiler")
WORDS = "lamp wick fog horn bell coast keeper oil lens tide".split()  # noqa: SIM905


SCHEMA = f"CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER);{LEXICAL_SCHEMA}"


class Inverted:
    """An inverted index in memory."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(SCHEMA)
        self._buffer = TermBuffer()
        self._next = 1

    def add(self, file: int, *texts: str) -> None:
        ids = range(self._next, self._next + len(texts))
        self.connection.executemany("INSERT INTO chunks VALUES (?, ?)", ((id_, file) for id_ in ids))
        self._buffer.add(self._next, terms_of(file, texts))
        self._next += len(texts)

    def remove(self, file: int) -> None:
        self.invert()
        self.connection.execute("INSERT INTO dead SELECT id FROM chunks WHERE file = ?", (file,))
        self.connection.execute("DELETE FROM chunks WHERE file = ?", (file,))

    def invert(self) -> None:
        self._buffer.invert(self.connection)

    def merge(self) -> None:
        self.invert()
        merge_segments(self.connection)


def terms_of(file: int, texts: Sequence[str]) -> FileTerms:
    return count_file_terms(((text, "", f"head{file}") for text in texts), "en")


@pytest.fixture
def inverted() -> Iterator[Inverted]:
    found = Inverted()
    yield found
    found.connection.close()


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
        found.append(([id_ for (id_,) in ids], terms_of(file, each)))
    return is_inverted_index_intact(connection, found)


@pytest.mark.slow
@pytest.mark.req("IDX-3")
@pytest.mark.parametrize("seed", range(20))
def test_scores_do_not_depend_on_the_order_of_changes(
    inverted: Inverted, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inversion, "SEGMENTS_MAX", 2)
    monkeypatch.setattr(inversion, "_MERGED_POSTINGS", 10)
    monkeypatch.setattr(inversion, "_ENCODED_POSTINGS", 5)
    monkeypatch.setattr(inversion, "SEGMENT_CHUNKS_MAX", 8)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 40)
    chance = random.Random(seed)
    texts: dict[int, list[str]] = {}
    files = count()
    for _ in range(40):
        act = chance.random()
        if act < 0.5 or not texts:
            file = next(files)
            texts[file] = [" ".join(chance.choices(WORDS, k=chance.randint(0, 9))) for _ in range(chance.randint(0, 3))]
            inverted.add(file, *texts[file])
        elif act < 0.75:
            file = chance.choice(list(texts))
            inverted.remove(file)
            del texts[file]
        elif act < 0.9:
            inverted.invert()
        else:
            inverted.merge()
    inverted.invert()
    assert is_intact(inverted.connection, texts)
    fresh = Inverted()
    for file in reversed(texts):
        fresh.add(file, *texts[file])
    fresh.invert()
    words = ("lamp", "horn", "head3")
    assert scores(inverted.connection, *words) == scores(fresh.connection, *words)
    fresh.connection.close()


@pytest.mark.slow
def test_rare_terms_are_merged_few_at_a_time(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A term takes memory, also if it is in one chunk only."""
    monkeypatch.setattr(inversion, "_MERGED_POSTINGS", 50)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 80)
    joined: list[int] = []
    join_blocks = inversion._join_blocks

    def count_terms(found: Sequence[Any], *rest: Any) -> Any:
        joined.append(sum(len(read_terms(data)) for _, _, data in found))
        return join_blocks(found, *rest)

    monkeypatch.setattr(inversion, "_join_blocks", count_terms)
    words = [f"rare{number}" for number in range(300)]
    inverted.add(1, " ".join(words))
    inverted.invert()
    inverted.add(2, "lamp")
    inverted.remove(2)
    inverted.merge()
    assert sum(joined) >= 300
    assert max(joined) <= 20
    assert is_intact(inverted.connection, {1: [" ".join(words)]})


def test_a_term_with_many_postings_is_merged_alone(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both segments begin with it, and nothing else is read before it is written."""
    monkeypatch.setattr(inversion, "_MERGED_POSTINGS", 20)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    monkeypatch.setattr(inversion, "SEGMENTS_MAX", 1)
    joined: list[list[str]] = []
    join_blocks = inversion._join_blocks

    def note_terms(found: Sequence[Any], *rest: Any) -> Any:
        joined.append([term for _, _, data in found for term in read_terms(data)])
        return join_blocks(found, *rest)

    monkeypatch.setattr(inversion, "_join_blocks", note_terms)
    texts = {1: ["0 zz"] * 30, 3: ["0 yy"] * 30}
    inverted.add(1, *texts[1])
    inverted.add(2, "zz")
    inverted.invert()
    inverted.add(3, *texts[3])
    inverted.remove(2)
    inverted.merge()
    assert [terms for terms in joined if "0" in terms] == [["0", "0"]]
    assert all(joined)
    assert len(read_segments(inverted.connection)) == 1
    assert is_intact(inverted.connection, texts)


def test_segments_are_merged_up_to_a_size(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for a merge does not grow with the index."""
    monkeypatch.setattr(inversion, "SEGMENT_CHUNKS_MAX", 40)
    read = _count_chunks(monkeypatch)
    for file in range(20):
        inverted.add(file, *["lamp"] * 9)
        inverted.invert()
    inverted.merge()
    assert [len(each.chunks) for each in read_segments(inverted.connection)] == [36] * 5
    for file in range(20, 25):
        inverted.add(file, *["lamp"] * 9)
        inverted.merge()
    assert [len(each.chunks) for each in read_segments(inverted.connection)] == [36] * 5 + [9] * 5
    for file in range(0, 20, 2):
        inverted.remove(file)
    inverted.merge()
    assert [len(each.chunks) for each in read_segments(inverted.connection)] == [18] * 5 + [36, 9]
    assert max(read) <= 40
    assert is_intact(inverted.connection, {file: ["lamp"] * 9 for file in range(25) if file > 19 or file % 2})


def _count_chunks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many chunks each merge reads."""
    found: list[int] = []

    def read(connection: sqlite3.Connection, ids: Sequence[int]) -> list[IndexSegment]:
        segments = read_segments(connection, ids)
        found.append(sum(len(each.chunks) for each in segments))
        return segments

    monkeypatch.setattr(inversion, "read_segments", read)
    return found


def test_postings_are_encoded_few_at_a_time(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "_ENCODED_POSTINGS", 10)
    encoded: list[int] = []
    encode = inversion.encode_blocks

    def count_postings(terms: Sequence[str], columns: PostingColumns) -> Iterator[tuple[str, bytes]]:
        encoded.append(len(columns.numbers))
        return encode(terms, columns)

    monkeypatch.setattr(inversion, "encode_blocks", count_postings)
    texts = [" ".join(f"rare{number}" for number in range(start, start + 30)) for start in (0, 10)]
    inverted.add(1, *texts)
    inverted.invert()
    assert sum(encoded) >= 60
    assert max(encoded) <= 10
    assert is_intact(inverted.connection, {1: texts})


@pytest.mark.slow
def test_terms_are_told_apart_if_there_are_more_than_a_16_bit_number_has(
    inverted: Inverted, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"w{number:05}" for number in range(70_000)]
    inverted.add(1, " ".join(words), "w00000 w69999")
    inverted.invert()
    assert is_intact(inverted.connection, {1: [" ".join(words), "w00000 w69999"]})
    found = scores(inverted.connection, "w00000")[1]
    assert found[1] > found[0] > 0
    assert scores(inverted.connection, "w65536")[1][1] == 0


def test_a_posting_that_was_altered_is_noticed(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    inverted.add(1, "lamp wick", "fog")
    inverted.invert()
    assert is_intact(inverted.connection, {1: ["lamp wick", "fog"]})
    inverted.connection.execute("DELETE FROM term_blocks WHERE first = 'fog'")
    assert not is_intact(inverted.connection, {1: ["lamp wick", "fog"]})


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE term_blocks SET first = 'lamq' WHERE first = 'lamp'",
        "UPDATE term_blocks SET segment = 7 WHERE first = 'horn'",
    ],
)
def test_a_block_that_is_not_in_its_place_is_noticed(
    inverted: Inverted, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    inverted.add(1, "lamp wick", "fog horn")
    inverted.invert()
    inverted.connection.execute(damage)
    with pytest.raises(DamagedIndexError):
        is_intact(inverted.connection, {1: ["lamp wick", "fog horn"]})


def test_blocks_that_overlap_are_noticed(inverted: Inverted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search would look for a term in one of them only."""
    inverted.add(1, "fog wick")
    inverted.invert()
    [[segment, data]] = inverted.connection.execute("SELECT segment, data FROM term_blocks").fetchall()
    [(first, block)] = blocks.encode_blocks(["lamp"], blocks.decode_blocks([data])._replace(starts=np.zeros(1, int)))
    inverted.connection.execute("INSERT INTO term_blocks VALUES (9, ?, ?, ?)", (segment, first, block))
    with pytest.raises(DamagedIndexError, match="the terms from 'lamp' on are not in their place"):
        is_intact(inverted.connection, {1: ["fog wick"]})


def test_a_merge_refuses_a_chunk_that_its_segment_does_not_have(inverted: Inverted) -> None:
    inverted.add(1, "lamp")
    inverted.invert()
    inverted.add(2, "horn", "horn")
    inverted.remove(1)
    inverted.connection.execute(
        "UPDATE segments SET chunks = substr(chunks, 1, 8), body_lengths = x'0100', "
        "head_lengths = x'0100' WHERE length(chunks) = 16"
    )
    with pytest.raises(DamagedIndexError, match="a chunk that its segment does not have"):
        inverted.merge()


def test_a_small_change_leaves_the_large_segment_alone(inverted: Inverted) -> None:
    inverted.add(0, *["lamp"] * 100)
    inverted.invert()
    [large] = read_segments(inverted.connection)
    for file in range(1, 40):
        inverted.add(file, "horn")
        inverted.merge()
        found = read_segments(inverted.connection)
        assert found[0].id == large.id
        assert len(found) <= inversion.SEGMENTS_MAX
    inverted.remove(0)
    inverted.merge()
    [merged] = read_segments(inverted.connection)
    assert len(merged.chunks) == 39


@needs_compiler
@pytest.mark.slow
@pytest.mark.req("IDX-5")
@pytest.mark.parametrize("seed", range(10))
def test_the_compiled_scorer_finds_the_same_scores_as_the_arrays(
    inverted: Inverted, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 40)
    chance = random.Random(seed)
    for file in range(60):
        inverted.add(file, *(" ".join(chance.choices(WORDS, k=chance.randint(0, 300))) for _ in range(3)))
        if chance.random() < 0.2:
            inverted.invert()
    for file in chance.sample(range(60), 8):
        inverted.remove(file)
    index = LexicalIndex(inverted.connection)
    groups = [
        TermGroup(("lamp",)),
        TermGroup(("fog", "horn"), weight=1.5),
        TermGroup(("head1",), is_prefix=True),
        TermGroup(("tide", "missing")),
        TermGroup(("missing",)),
    ]
    body, head = index.score(groups)
    numbers, found_body, found_head = index.find(groups)
    assert numbers.tolist() == np.flatnonzero(body + head).tolist()
    assert found_body.tolist() == body[numbers].tolist()
    assert found_head.tolist() == head[numbers].tolist()
    assert [index.has_any(group) for group in groups] == [True, True, True, True, False]
    few, _, _ = index.find([TermGroup(("head7",))])
    assert few.tolist() == np.flatnonzero(index.score([TermGroup(("head7",))])[1]).tolist()


@needs_compiler
@pytest.mark.req("SIL-2")
@pytest.mark.parametrize("seed", range(40))
def test_the_compiled_scorer_refuses_a_damaged_block_or_reads_another_number(inverted: Inverted, seed: int) -> None:
    inverted.add(0, "lamp wick fog", "lamp", "fog lamp lamp")
    inverted.invert()
    [block] = inverted.connection.execute("SELECT data FROM term_blocks").fetchone()
    damaged = bytearray(block)
    damaged[random.Random(seed).randrange(len(block))] ^= 0xFF
    inverted.connection.execute("UPDATE term_blocks SET data = ?", (bytes(damaged),))
    index = LexicalIndex(inverted.connection)
    try:
        numbers, _, _ = index.find([TermGroup(("lamp",)), TermGroup(("f",), is_prefix=True)])
    except DamagedIndexError:
        return
    assert set(numbers.tolist()) <= {0, 1, 2}


@needs_compiler
def test_the_compiled_scorer_refuses_norms_and_segments_that_do_not_fit() -> None:
    alive, norms = np.ones(3, np.bool_), np.ones(3)
    with pytest.raises(ValueError, match="two norms"):
        PostingScorer(alive, norms, norms[:2], 3)
    scorer = PostingScorer(alive, norms, norms, 3)
    with pytest.raises(ValueError, match="outside"):
        scorer.find([(1.0, False, [(0, 4, b"lamp", b"")])], 1.2)
    with pytest.raises(ValueError, match="no header"):
        scorer.find([(1.0, False, [(0, 3, b"lamp", b"short")])], 1.2)
    with pytest.raises(TypeError):
        scorer.find([(1.0, False, (0, 3))], 1.2)  # type: ignore[list-item]


def test_segments_of_a_first_run_are_merged_when_there_are_many(inverted: Inverted) -> None:
    for file in range(inversion.SEGMENTS_MAX):
        inverted.add(file, *["lamp"] * 10)
        inverted.invert()
    merge_segments(inverted.connection)
    assert len(read_segments(inverted.connection)) == inversion.SEGMENTS_MAX
    inverted.add(99, *["lamp"] * 10)
    inverted.merge()
    assert [len(each.chunks) for each in read_segments(inverted.connection)] == [10 * inversion.SEGMENTS_MAX + 10]


@pytest.mark.req("SEA-1")
def test_forms_of_a_word_count_as_one_and_a_short_word_finds_what_begins_with_it(inverted: Inverted) -> None:
    inverted.add(0, "lamp", "wick", "\u6d77\u5cb8 \u6d77\u6d0b", "fog")
    inverted.invert()
    index = LexicalIndex(inverted.connection)
    both, _ = index.score([TermGroup(("lamp", "wick"))])
    assert both[0] == both[1] > 0 == both[3]
    beginning, _ = index.score([TermGroup(("\u6d77",), is_prefix=True)])
    assert (beginning > 0).tolist() == [False, False, True, False]


def test_a_buffer_of_no_files_has_no_first_chunk() -> None:
    assert TermBuffer().first is None
