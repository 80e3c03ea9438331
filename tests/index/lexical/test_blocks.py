"""Blocks of postings: read as they were written, or refused."""

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.index.lexical import blocks
from inorder.index.lexical.blocks import (
    PostingColumns,
    Postings,
    decode_blocks,
    encode_blocks,
    find_postings,
    find_postings_by_prefix,
    read_terms,
)
from inorder.index.lexical.schema import DamagedIndexError


def make_columns(written: list[Postings]) -> PostingColumns:
    counts = np.array([len(each.body) for each in written])
    return PostingColumns(np.cumsum(counts) - counts, *(np.concatenate(each) for each in zip(*written, strict=True)))


def make_postings(numbers: set[int], *, has_head: bool) -> Postings:
    body = np.arange(1, len(numbers) + 1).astype(np.uint8)
    return Postings(np.array(sorted(numbers), np.int64), body, body if has_head else np.zeros_like(body))


def are_equal(ours: tuple[object, ...], theirs: tuple[object, ...]) -> bool:
    return all(np.array_equal(our, their) for our, their in zip(ours, theirs, strict=True))  # type: ignore[arg-type]


TERMS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6),
    st.tuples(st.sets(st.integers(0, 200_000), min_size=1, max_size=50), st.booleans()),
    min_size=1,
)


@pytest.mark.slow
@given(TERMS, st.integers(1, 300))
def test_postings_are_read_as_they_were_written(terms: dict[str, tuple[set[int], bool]], size: int) -> None:
    names = sorted(terms)
    written = [make_postings(numbers, has_head=has_head) for numbers, has_head in (terms[name] for name in names)]
    columns = make_columns(written)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        encoded = [*encode_blocks(names, columns)]
    assert [name for _, block in encoded for name in read_terms(block)] == names
    assert are_equal(columns, decode_blocks([block for _, block in encoded]))
    block_of = {name: (first, block) for first, block in encoded for name in read_terms(block)}
    for name, before in zip(names, written, strict=True):
        first, block = block_of[name]
        assert read_terms(block, first)[0] == first
        found = find_postings(block, name)
        assert found is not None
        assert are_equal(before, found)


def test_terms_that_a_block_does_not_have_are_not_found() -> None:
    one = make_postings({3}, has_head=False)
    [(_, block)] = encode_blocks(["fog", "foghorn", "lamp"], make_columns([one] * 3))
    assert find_postings(block, "fog") is not None
    assert [find_postings(block, name) for name in ("fo", "og", "foghor", "fog foghorn", "", "m")] == [None] * 6
    assert [len(find_postings_by_prefix(block, name)) for name in ("fo", "fog", "fogh", "la", "x", "")] == [
        2,
        2,
        1,
        1,
        0,
        3,
    ]


def test_a_term_with_many_postings_has_a_block_of_its_own() -> None:
    few, many = make_postings({1, 2}, has_head=True), make_postings({*range(0, 900_000, 9)}, has_head=True)
    names = ["a", "b", "c", "d"]
    encoded = [*encode_blocks(names, make_columns([few, few, many, few]))]
    assert [read_terms(block) for _, block in encoded] == [["a", "b"], ["c"], ["d"]]
    found = find_postings(encoded[1][1], "c")
    assert found is not None
    assert are_equal(many, found)


def test_blocks_have_about_the_same_size() -> None:
    chance = random.Random(1)
    names = sorted({f"name{chance.randrange(10**6)}" for _ in range(3000)})
    written = [make_postings({*chance.choices(range(9999), k=chance.randint(1, 20))}, has_head=False) for _ in names]
    sizes = [len(block) for _, block in encode_blocks(names, make_columns(written))]
    assert len(sizes) > 20
    assert max(sizes) <= blocks.BLOCK_BYTES * 1.1
    assert min(sizes[:-1]) >= blocks.BLOCK_BYTES * 0.8


def sample() -> bytes:
    written = [
        make_postings({1, 70_000}, has_head=True),
        make_postings({300}, has_head=False),
        make_postings({5}, has_head=True),
    ]
    [(_, block)] = encode_blocks(["fog", "horn", "lamp"], make_columns(written))
    return block


def overwrite(block: bytes, at: int, *values: int) -> bytes:
    data = bytearray(block)
    struct.pack_into(f"<{len(values)}H", data, at, *values)
    return bytes(data)


STARTS = 24
DAMAGED = {
    "empty": b"",
    "only a header": sample()[:STARTS],
    "truncated": sample()[:-1],
    "too long": sample() + b"\0",
    "no terms": overwrite(sample(), 0, 0),
    "too many terms": overwrite(sample(), 0, 4),
    "text": "text",
    "the second term begins before the first ends": overwrite(sample(), STARTS, 0, 0, 3),
    "the second term ends after the last": overwrite(sample(), STARTS, 0, 2, 9),
    "gaps of the first term behind the end": overwrite(sample(), STARTS + 6, 99),
    "gaps of the first term in those of the last": overwrite(sample(), STARTS + 6, 0),
    "counts in headings for a part of the postings": overwrite(sample(), STARTS + 12, 0, 1),
    "counts in headings behind the end": overwrite(sample(), STARTS + 12, 0, 2, 99),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_block_is_refused(name: str) -> None:
    block = DAMAGED[name]
    with pytest.raises(DamagedIndexError):
        decode_blocks([sample(), block])  # type: ignore[list-item]
    with pytest.raises(DamagedIndexError):
        [find_postings(block, term) for term in ("fog", "horn", "lamp")]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names", [b" fog hornxlamp ", b" fog lamp horn ", b" fog fog lamp  ", b" f\xffg horn lamp "], ids=range(4)
)
def test_damaged_names_are_refused(names: bytes) -> None:
    block = sample().replace(b" fog horn lamp ", names)
    with pytest.raises(DamagedIndexError, match="the names of 3 terms are damaged"):
        read_terms(block)
    with pytest.raises(DamagedIndexError, match="the names of 3 terms are damaged"):
        find_postings_by_prefix(block, "f")


def test_a_term_after_a_name_too_many_is_refused() -> None:
    """Its place in the columns would be that of the bytes after them."""
    with pytest.raises(DamagedIndexError, match="term 3 of a block of 3 terms is damaged"):
        find_postings(sample().replace(b" fog horn lamp ", b" fog ho n lamp "), "lamp")


def test_a_block_with_another_first_term_is_refused() -> None:
    assert read_terms(sample(), "fog") == ["fog", "horn", "lamp"]
    with pytest.raises(DamagedIndexError, match="the names of 3 terms are damaged"):
        read_terms(sample(), "foe")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_altered_bytes_are_read_or_refused_but_nothing_else_fails(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        data = bytearray(sample())
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 32, 127, 255, chance.randrange(256)])
        for read in (lambda block: decode_blocks([block]), read_terms, lambda block: find_postings(block, "horn")):
            try:
                read(bytes(data))
            except DamagedIndexError:
                continue
