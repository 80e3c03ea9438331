"""Counting tokens, by words and with a tokenizer.json."""

import re
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from inorder.documents.chunk.tokens import SPACELESS, count_words, count_words_of_parts, load_counter
from inorder.documents.chunk.units import Piece
from inorder.errors import OperatorError
from tests.documents.chunk.laws import LETTERS, checked, pieces_from

pytestmark = pytest.mark.req("DOC-2")

PROSE = "The keeper lights the lamp at dusk, and notes the hour in the book.\n\nThen he sleeps. "
TOKEN = re.compile(rf"[{SPACELESS}]|[^\W_{SPACELESS}]+|[^\w\s]|_")
"""What a token is, said in another way."""


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of bytes join_pieces as in most models, with a file that asks for texts to be cut and filled up."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([PROSE] * 3, trainer)
    made.enable_truncation(8)
    made.enable_padding(length=8)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return path


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t\u00a0\u3000", 0),
        ("The lamp, at dusk.", 6),
        ("don't", 3),
        ("snake_case", 3),
        ("caf\u00e9 \u2014 \u201cso\u201d", 5),
        ("\u706f\u53f0\u3002", 3),
        ("\ud55c\uad6d\uc5b4 \u0440\u0443\u0441\u0441\u043a\u0438\u0439", 2),
        ("\U0001d4d0\U0001d4d1 \U0001f600\U0001f600", 3),
        ("3.14", 3),
    ],
)
def test_words_and_marks_are_tokens(text: str, tokens: int) -> None:
    assert count_words(text) == tokens


@pytest.mark.slow
@given(st.text() | st.text(alphabet="ab_ .\n\u00e9\u0301\u706f\u0e01\u200d\ud800\U0001f600\U0001d4d0"))
def test_words_are_counted_as_they_are_found(text: str) -> None:
    assert count_words(text) == len(TOKEN.findall(text))


@pytest.mark.slow
@pytest.mark.req("ROB-1")
@given(
    st.lists(
        st.text(alphabet="ab_ .\n\u00e9\u0301\u706f\u0e01\u200d\ud800\U0001f600\U0001d4d0", min_size=1), min_size=1
    ),
    st.integers(0, 3),
)
def test_the_parts_of_a_long_line_are_counted_at_once_as_one_by_one(parts: list[str], start: int) -> None:
    ends = list(accumulate(map(len, parts), initial=start))[1:]
    assert count_words_of_parts("a" * start + "".join(parts), start, ends) == list(map(count_words, parts))


@pytest.mark.slow
def test_every_character_is_counted_as_it_is_found() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert count_words(everything) == len(TOKEN.findall(everything))


def test_a_tokenizer_counts_all_tokens_whatever_its_file_says_of_lengths(tokenizer_json: Path) -> None:
    count = load_counter(f"hf:{tokenizer_json}")
    assert count("") == 0
    assert count("\u706f") == 3
    assert count("\u706f" * 100) == 300
    assert count(PROSE * 20) > 300


@pytest.mark.parametrize("tokens_max", [8, 33, 100])
@pytest.mark.parametrize("text", [PROSE * 10, "x" * 500, "\u706f\u53f0" * 90, " ".join(LETTERS) * 9, "a.b,c" * 99])
def test_a_tokenizer_finds_no_chunk_too_large(tokenizer_json: Path, text: str, tokens_max: int) -> None:
    count = load_counter(f"hf:{tokenizer_json}")
    rows = "\n".join(f"{number} | {number + 1}" for number in range(60))
    pieces = pieces_from(("heading", "Lamp"), text, ("table", rows), *[("list", "so")] * 30, ("code", "  if x:\n" * 30))
    chunks = checked(pieces, count, tokens_max // 2, tokens_max)
    assert max(chunk.tokens for chunk in chunks) > tokens_max // 2


def test_many_tiny_pieces_fill_chunks_although_the_space_between_them_counts(tokenizer_json: Path) -> None:
    count = load_counter(f"hf:{tokenizer_json}")
    pieces = [Piece("7", "list", f"#/texts/{number}") for number in range(1000)]
    tokens = [chunk.tokens for chunk in checked(pieces, count, 50, 100)]
    assert min(tokens[:-1]) >= 95


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe", b'{"model": {"type": "None"}}', b"[]" * 9])
def test_a_tokenizer_that_cannot_be_read_is_one_line_for_the_operator(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OperatorError, match=r"\Acannot read the tokenizer .*tokenizer\.json: [^\n]+\Z"):
        load_counter(f"hf:{path}")


@pytest.mark.parametrize("name", ["", "hf", "hf:", "bytes", "words:x"])
def test_other_tokenizers_are_refused(name: str) -> None:
    with pytest.raises(OperatorError, match=r"tokenizer must be 'words' or 'hf:PATH'"):
        load_counter(name)
