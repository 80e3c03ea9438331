"""Words are tokenized once. The tokens of a text are those that its tokenizer returns."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from inorder.documents.embed.providers import word_tokenizer
from inorder.documents.embed.providers.tokenizer import TokenizerSpec, enable_truncation, load_tokenizer, tokenize_texts
from inorder.documents.embed.providers.word_tokenizer import WordTokenizer, make_word_tokenizer

pytestmark = pytest.mark.req("DOC-4", "DAT-4")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyzABC0123456789.,-[]\u4e2d\u03c3"
PIECES = [*LETTERS, "word", "text", "Text", "ing"]
VOCABULARY = {piece: number for number, piece in enumerate([*SPECIAL, *PIECES, *(f"##{piece}" for piece in PIECES)])}


def make_tokenizer(tokens_max: int = 16, **options: Any) -> Any:
    """A tokenizer as that of BERT."""
    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]", max_input_chars_per_word=12))
    made.normalizer = normalizers.BertNormalizer(**options)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(SPECIAL)
    return enable_truncation(made, tokens_max)


def use_template(made: Any) -> None:
    parts = [("[CLS]", 2), ("[SEP]", 3), ("[MASK]", 4)]
    made.post_processor = processors.TemplateProcessing("[CLS] [MASK] $A [SEP]", special_tokens=parts)


def use_nothing(made: Any) -> None:
    made.normalizer = None
    made.post_processor = None


TOKENIZERS: dict[str, Callable[[], Any]] = {
    "uncased": make_tokenizer,
    "cased": lambda: make_tokenizer(lowercase=False, strip_accents=False, clean_text=False),
    "chinese characters are words": lambda: make_tokenizer(handle_chinese_chars=False, tokens_max=3),
}
SPACES = st.sampled_from([" ", "  ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x85", "\u00a0", "\u2003", "\u200b", ""])
WORDS = st.one_of(
    st.sampled_from(["word", "Texting", "[SEP]", "a[MASK]b", "e\u0301", "\u0301", "\x00", "\ud800", "word." * 14]),
    st.text(max_size=8),
    st.text(LETTERS, max_size=14),
)
TEXTS = st.lists(st.tuples(WORDS, SPACES), max_size=12).map(lambda pairs: "".join(map("".join, pairs)))


def require_word_tokenizer(tokenizer: Any) -> WordTokenizer:
    made = make_word_tokenizer(tokenizer)
    assert made is not None
    return made


def tokenize(by_word: WordTokenizer, *texts: str) -> list[list[int]]:
    return [tokens.tolist() for tokens in by_word.tokenize(texts)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_tokens_of_any_text_are_those_of_its_tokenizer(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    by_word = require_word_tokenizer(tokenizer)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(TEXTS, max_size=4))
    def check(texts: list[str]) -> None:
        expected = tokenize_texts(tokenizer, texts)
        assert tokenize(by_word, *texts) == expected
        assert tokenize(by_word, *texts) == expected, "now all words are known"

    check()


@pytest.mark.parametrize("change", [use_template, use_nothing])
def test_special_tokens_are_where_the_tokenizer_puts_them(change: Callable[[Any], None]) -> None:
    tokenizer = make_tokenizer()
    change(tokenizer)
    texts = ["", "a word", "text " * 20]
    assert tokenize(require_word_tokenizer(tokenizer), *texts) == tokenize_texts(tokenizer, texts)


def add_token(content: str, **options: bool) -> Callable[[Any], None]:
    return lambda made: made.add_tokens([AddedToken(content, **options)])


def change_part(name: str, value: Any) -> Callable[[Any], None]:
    return lambda made: setattr(made, name, value)


@pytest.mark.parametrize(
    "change",
    [
        change_part("normalizer", normalizers.NFC()),
        change_part("pre_tokenizer", pre_tokenizers.Metaspace()),
        change_part("pre_tokenizer", None),
        change_part("model", models.BPE({"a": 0}, [])),
        lambda made: made.no_truncation(),
        lambda made: made.enable_truncation(16, direction="left"),
        add_token("two words"),
        add_token("<t>", lstrip=True),
        add_token("<t>", rstrip=True),
        add_token("<t>", single_word=True),
        add_token("rd"),
    ],
)
def test_a_tokenizer_that_depends_on_more_than_words_is_used_as_it_is(change: Callable[[Any], None]) -> None:
    tokenizer = make_tokenizer()
    change(tokenizer)
    assert make_word_tokenizer(tokenizer) is None
    text = "two words <t> word a"
    [found] = load_tokenizer(TokenizerSpec(tokenizer.to_str()), by="test", extra="onnx")([text])
    assert list(found) == tokenizer.encode(text).ids


def test_words_are_forgotten_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tokenizer, "_WORDS_MAX", 3)
    tokenizer = make_tokenizer()
    by_word = require_word_tokenizer(tokenizer)
    texts = ["a b", "c d a", "a"]
    assert [tokenize(by_word, text) for text in texts] == [tokenize_texts(tokenizer, [text]) for text in texts]
    assert len(by_word._known) <= 3


def test_known_words_are_not_tokenized_again(monkeypatch: pytest.MonkeyPatch) -> None:
    by_word = require_word_tokenizer(make_tokenizer())
    expected = tokenize(by_word, "texting a word.")
    monkeypatch.setattr(by_word, "_tokenizer", None)
    assert tokenize(by_word, "texting a word.") == expected
    assert tokenize(by_word, "word text") == [[2, VOCABULARY["word"], VOCABULARY["text"], 3]], "of the vocabulary"


def test_the_prompt_is_put_before_every_text() -> None:
    tokenizer = make_tokenizer()
    load = load_tokenizer(TokenizerSpec(tokenizer.to_str(), "text: "), by="test", extra="onnx")
    assert [list(tokens) for tokens in load(["a word"])] == [tokenizer.encode("text: a word").ids]
