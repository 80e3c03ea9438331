# ruff: noqa: RUF001
"""The terms under which a text is found, in many scripts."""

import subprocess
import sys
import sysconfig
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.index.lexical import terms as terms_module
from inorder.index.lexical.analysis import (
    TERM_CHARACTERS_MAX,
    add_joined_digits,
    analyze,
    compile_word,
    is_partial,
    open_term_cache,
    split_words,
)
from inorder.index.lexical.file_terms import LENGTH_TYPE, NUMBER_TYPE, FileTerms
from inorder.index.lexical.languages import STEMMERS, detect_language
from inorder.index.lexical.plain_counter import PlainCounter
from inorder.index.lexical.terms import count_file_terms

try:
    from inorder.index.lexical._counter import TermCounter
    from inorder.index.lexical.compiled_counter import CompiledCounter
except ImportError:
    CompiledCounter = None  # type: ignore[assignment, misc]
COUNTERS = [
    pytest.param(
        CompiledCounter,
        marks=pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler"),
        id="compiled",
    ),
    pytest.param(PlainCounter, id="plain"),
]

SENTENCES = {
    "ar": "يقع المنارة على الساحل ويضيء مصباحها كل ليلة للسفن التي تمر",
    "bg": "Фарът се намира на брега и свети всяка нощ за корабите, които минават през пролива",
    "cs": "Maják stojí na pobřeží a svítí každou noc pro lodě, které plují kolem, ale ve dne se nerozsvěcuje",
    "da": "Fyret står på kysten og lyser hver nat for de skibe, der sejler forbi, men det er ikke tændt om dagen",
    "de": "Der Leuchtturm steht an der Küste und leuchtet jede Nacht für die Schiffe, die nicht bei Tag fahren",
    "el": "Ο φάρος βρίσκεται στην ακτή και φωτίζει κάθε νύχτα για τα πλοία που περνούν",
    "en": "The lighthouse stands on the coast and its lamp is lit every night for the ships that pass",
    "es": "El faro está en la costa y se enciende todas las noches para los barcos que pasan por el estrecho",
    "fa": "این چراغ دریایی در ساحل است و هر شب برای کشتی‌هایی که می‌گذرند روشن می‌شود گچ پژ",
    "fi": "Majakka on rannikolla ja se valaisee joka yö, mutta ei päivällä, kun laivat ovat satamassa",
    "fr": "Le phare est sur la côte et il est allumé toutes les nuits pour les bateaux qui passent dans le détroit",
    "he": "המגדלור ניצב על החוף ומאיר בכל לילה",
    "hi": "प्रकाशस्तंभ तट पर है और हर रात जहाजों के लिए जलता है",
    "hu": "A világítótorony a parton áll, és minden éjjel világít, hogy a hajók ne tévedjenek el, de nem nappal",
    "it": "Il faro è sulla costa e si accende tutte le notti per le navi che passano nello stretto, ma non di giorno",
    "ja": "灯台は海岸に立っていて、毎晩船のために点灯されます",
    "ko": "등대는 해안에 서 있고 매일 밤 배를 위해 켜진다",
    "nl": "De vuurtoren staat op de kust en wordt elke nacht aangestoken voor de schepen die niet bij dag varen",
    "pl": "Latarnia stoi na wybrzeżu i świeci się każdej nocy dla statków, które przepływają, ale nie w dzień",
    "pt": "O farol fica na costa e não se apaga durante a noite para os navios que passam pelo estreito com carga",
    "ru": "Маяк стоит на берегу и светит каждую ночь для кораблей, которые проходят через пролив, но не днём",
    "sv": "Fyren står på kusten och lyser varje natt för de fartyg som passerar, men den är inte tänd på dagen",
    "th": "ประภาคารตั้งอยู่บนชายฝั่งและส่องสว่างทุกคืน",
    "tr": "Fener kıyıda durur ve her gece geçen gemiler için yanar, ama gündüz çok daha sönük bir ışık ile olduğu gibi",
    "uk": "Маяк стоїть на березі і світить кожну ніч для кораблів, які проходять, але не вдень та не для його команди",
    "zh": "灯塔位于海岸上，每天晚上为过往的船只点亮",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_tells_its_language(language: str) -> None:
    assert detect_language(SENTENCES[language]) == language


@pytest.mark.parametrize("text", ["", "12 34", "x y z", "!!!", "\ud800"])
def test_a_text_without_function_words_has_no_language(text: str) -> None:
    assert detect_language(text) == ""


@pytest.mark.req("SEA-1")
@pytest.mark.parametrize(
    ("language", "text", "asked"),
    [
        ("de", "zwei alte Häuser", "Haus"),
        ("fr", "les résumés", "resume"),
        ("ru", "корабли", "кораблей"),
        ("en", "running horns", "run horn"),
        ("zh", "灯塔位于海岸上", "海岸"),
        ("ja", "ｶﾞｽ灯台", "ガス"),
        ("ko", "등대는", "등대"),
        ("th", "ประภาคารตั้งอยู่", "ประภาคาร"),
        ("ar", "مُحَمَّد", "محمد"),
        ("he", "מִלָּה", "מלה"),
        ("", "ＦＵＬＬ width", "full"),
        ("", "parseHTTPHeader", "http header"),
        ("", "parse_http_header", "parse_http_header"),
        ("", "soft\u00adhyphen", "softhyphen"),
    ],
)
def test_a_word_is_found_in_another_form(language: str, text: str, asked: str) -> None:
    assert set(analyze(asked, language)) <= set(analyze(text, language))


@pytest.mark.req("SEA-1")
def test_words_that_differ_by_a_vowel_sign_or_a_cyrillic_letter_are_told_apart() -> None:
    assert analyze("कल", "ne") != analyze("काल", "ne")
    assert analyze("мои", "bg") != analyze("мой", "bg")
    assert analyze("ёлка", "bg") == analyze("елка", "bg")


def test_every_combining_mark_stays_with_its_letter() -> None:
    marks = [chr(code) for code in range(0x300, 0x0E00) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    split = [f"{ord(mark):04x}" for mark in marks if len(split_words(f"\u0915{mark}\u0915")) != 1]
    assert split == []


@pytest.mark.parametrize("word", ["leri", "ları"])
def test_a_word_that_is_only_a_suffix_is_its_own_term(word: str) -> None:
    assert analyze(f"API'{word}", "tr") == ["api", word]
    assert analyze(f"{word}_{word}", "tr") == [word, word, f"{word}_{word}"]
    counted = count_file_terms([(f"{word} {word}_x", "", "")], "tr")
    assert set(counted.vocabulary.split()) == {word, "x", f"{word}_x"}


@pytest.mark.parametrize("word", ["QUJDRUZH" * 20, "9f86d081884c7d659a2feaa0c55ad015"])
def test_data_is_one_term(word: str) -> None:
    assert analyze(word) == [word.lower()[:TERM_CHARACTERS_MAX]]


def test_a_character_alone_may_be_the_beginning_of_what_is_indexed() -> None:
    assert is_partial("灯")
    assert is_partial("ปร")
    assert not is_partial("灯塔")
    assert not is_partial("a")


@pytest.mark.slow
@given(st.text(st.characters(codec=None, categories=None), max_size=60), st.sampled_from(["", *STEMMERS]))
def test_any_text_has_terms_without_spaces(text: str, language: str) -> None:
    terms = analyze(text, language)
    assert all(term and not any(map(str.isspace, term)) for term in terms)
    counted = count_file_terms([(text, "", "")], language)
    assert sorted(counted.vocabulary.split()) == sorted(set(terms))
    assert np.frombuffer(counted.body_lengths, LENGTH_TYPE).tolist() == [len(terms)]
    assert sys.getsizeof(terms) >= 0


# ---- counting


def count_by_hand(chunks: list[tuple[str, str, str]], language: str = "") -> list[dict[str, tuple[int, int]]]:
    """For each chunk, how often each term is in its text and in its headings."""
    found = []
    for text, name, context in chunks:
        body, head = Counter(analyze(text, language)), Counter(analyze(f"{name} {context}", language))
        found.append({term: (min(body[term], 255), min(head[term], 255)) for term in body | head})
    return found


def read_counts(counted: FileTerms) -> list[dict[str, tuple[int, int]]]:
    names = counted.vocabulary.split()
    terms = [names[number] for number in np.frombuffer(counted.terms, NUMBER_TYPE)]
    ends = np.cumsum(np.frombuffer(counted.sizes, NUMBER_TYPE)).tolist()
    rows = list(zip(terms, zip(counted.body, counted.head, strict=True), strict=True))
    return [dict(rows[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


WORDS = st.lists(
    st.sampled_from(
        [
            "fog", "FogHorn", "foghorn", "_", "häuser", "灯台下", "x9", "Lamps", "9", "0xFF", "HTTPServer", "lampster",
            "lampsters", "__init__", "sixteen_letters_", "seventeen_letters", "seventeen_letter", "w" * 70, "a.b-c",
        ]
    ),
    max_size=9,
).map(" ".join)  # fmt: skip


@pytest.fixture(params=COUNTERS)
def counter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of counter in turn, without words of other tests."""
    monkeypatch.setattr(terms_module, "_open_counter", request.param)
    monkeypatch.setattr(terms_module, "_counters", terms_module._Counters())


@pytest.mark.slow
@pytest.mark.req("IDX-2")
@pytest.mark.parametrize("open_counter", COUNTERS)
@given(
    st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5),
    st.sampled_from([1, 3, 1000]),
)
def test_the_terms_of_each_chunk_are_counted(
    open_counter: type, chunks: list[tuple[str, str, str]], words_max: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms_module, "_open_counter", open_counter)
        patch.setattr(terms_module, "_counters", terms_module._Counters())
        patch.setattr(terms_module, "DOCUMENT_WORDS_MAX", words_max)
        for _ in range(2):
            assert read_counts(count_file_terms(chunks, "")) == count_by_hand(chunks)


NAMES = st.text(st.characters(max_codepoint=127) | st.sampled_from("aA9_zZ0 ä"), max_size=200)


@pytest.mark.slow
@pytest.mark.parametrize("open_counter", COUNTERS)
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=3), st.sampled_from(["", "tr", "de"]))
def test_any_names_are_counted_as_they_are_analyzed(
    open_counter: type, chunks: list[tuple[str, str, str]], language: str
) -> None:
    counter = open_counter(language)
    fields = [field for text, name, context in chunks for field in (text, f"{name} {context}")]
    for _ in range(2):
        assert read_counts(counter.count(fields)) == count_by_hand(chunks, language)


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize("language", ["", *STEMMERS])
def test_words_that_are_new_to_a_counter_have_the_terms_of_their_language(language: str) -> None:
    """All at once. The stem of a word in ASCII may have marks, in Turkish for example."""
    words = ["agac", "Kitab", "kitabAgac", "Lighthouses", "SHIPS_sailing", "_ships", "_", "9ships", "w" * 70]
    counted = count_file_terms([(" ".join(words) + " " * 2000, "", "")], language)
    assert sorted(counted.vocabulary.split()) == sorted({term for word in words for term in analyze(word, language)})


@pytest.mark.slow
def test_known_words_are_found_in_the_tables_of_a_counter_that_grow() -> None:
    """More words than the first table has room for, in one text and in the next one."""
    words = [f"word{chr(97 + number % 26)}{number}x" for number in range(5000)]
    for open_counter in (each.values[0] for each in COUNTERS if each.values[0] is not None):
        counter = open_counter("")
        for _ in range(2):
            [terms] = read_counts(counter.count([" ".join(words), ""]))
            assert set(terms) == {term for word in words for term in analyze(word)}
        assert len(counter) == len(words)


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize("size", range(1, 30))
def test_words_of_any_length_are_told_apart(size: int) -> None:
    """A text ends with each of them in turn: no more than the word can be read there."""
    words = ["b" * size, "b" * (size + 1), *("b" * at + "c" + "b" * (size - at - 1) for at in range(size))]
    chunks = [(" ".join([*words, word]), word, "") for word in words]
    for _ in range(2):
        assert read_counts(count_file_terms(chunks, "")) == count_by_hand(chunks)


@pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler")
def test_a_counter_that_failed_knows_its_words_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of its new words were not stemmed, so it could not count them."""
    broken = CompiledCounter("")

    def fail(parts: list[str]) -> list[str]:
        raise MemoryError

    cache = open_term_cache("")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "derive_part_terms", fail)
        broken._counter = broken._open()
    with pytest.raises(MemoryError):
        broken.count(["fog horns", ""])
    assert read_counts(broken.count(["fog horns", ""])) == [{"fog": (1, 0), "horn": (1, 0)}]


@pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler")
def test_a_term_with_a_zero_is_told_apart_from_one_without() -> None:
    terms = ["a", "a\0", "a\0b", "a\0" * 9]
    columns = TermCounter(list).count([[*terms, "a\0"], []])
    assert columns[0].split() == terms
    assert columns[3] == bytes([1, 2, 1, 1])


@pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler")
@pytest.mark.parametrize(
    ("stems", "fields", "error"),
    [
        (list, ["a text without headings"], ValueError),
        (list, [1, 2], TypeError),
        (list, [["a", 1], []], TypeError),
        (lambda parts: parts[1:], ["fog", ""], ValueError),
        (lambda parts: None, ["fog", ""], TypeError),
        (lambda parts: [1], ["fog", ""], TypeError),
        (None, ["fog", ""], TypeError),
    ],
)
def test_the_compiled_counter_refuses_what_it_cannot_count(stems: Any, fields: Any, error: type[Exception]) -> None:
    counter = TermCounter(stems)
    with pytest.raises(error):
        counter.count(fields)


@pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler")
def test_a_counter_that_is_counting_refuses_another_call() -> None:
    """It lets its lock go while it waits for a function in Python, as it does with the GIL."""
    answers: list[object] = []

    def call_again(parts: list[str]) -> list[str]:
        with ThreadPoolExecutor(1) as pool:
            answers.append(pool.submit(counter.count, ["lamp", ""]).exception())
        fields.clear()
        return parts

    counter = TermCounter(call_again)
    fields = ["fog horn", ""]
    assert counter.count(fields)[0] == "fog horn"
    assert [str(answer) for answer in answers] == ["an earlier call has not ended"]


@pytest.mark.process
@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the GIL")
def test_the_compiled_module_does_not_turn_the_gil_on() -> None:
    program = "import inorder.index.lexical._counter, sys; print(sys._is_gil_enabled())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "False\n"


@pytest.mark.usefixtures("counter")
def test_words_of_documents_that_do_not_return_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "DOCUMENT_WORDS_MAX", 10)
    for number in range(100):
        for language in ("en", "", None):
            count_file_terms([("fog horn", f"document{number}", "")], language)
    sizes = {language: len(counter) for language, counter in terms_module._counters.by_language.items()}
    assert max(sizes["en"], sizes[""]) <= 10
    assert sizes[None] > 100, "the words of program code return"


@pytest.mark.usefixtures("counter")
def test_a_count_that_is_too_large_is_limited() -> None:
    chunks = [("fog " * 300, "horn " * 70_000, "")]
    counted = count_file_terms(chunks, "")
    assert read_counts(counted) == count_by_hand(chunks) == [{"fog": (255, 0), "horn": (0, 255)}]
    assert np.frombuffer(counted.head_lengths, LENGTH_TYPE).tolist() == [65_535]


def test_counters_are_not_shared_by_threads() -> None:
    """They have several tables that have to match, and cannot grow while another thread reads them."""
    count_file_terms([("fog", "", "")], "")
    own = terms_module._find_counter("")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(terms_module._find_counter, "").result() is not own
    assert terms_module._find_counter("") is own


def test_a_text_in_ascii_needs_no_pattern_of_all_scripts() -> None:
    """It takes milliseconds to compile, in each process of a run."""
    compile_word.cache_clear()
    assert split_words("a lamp-house") == ["a", "lamp", "house"]
    assert compile_word.cache_info().currsize == 0
    assert split_words("a lamp-h\u00f6use") == ["a", "lamp", "h\u00f6use"]
    assert compile_word.cache_info().currsize == 1


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("1,000", "1000"),
        ("It cost 12,345,678.", "12345678"),
        ("1,000.50 and (2,000)", "1000 2000"),
        ("1,000, or 2,000,", "1000 2000"),
        ("\u20ac1,000 f\u00fcr", "1000"),
        ("1,00 1,0000 1000,000 1,000,00 x1,000 1,000x .1,000 1,000_", ""),
        ("0" + ",000" * 7, ""),
    ],
)
def test_digits_that_are_grouped_by_commas_are_joined_beside_their_groups(text: str, joined: str) -> None:
    assert add_joined_digits(text) == " ".join([text, *joined.split()])
    vocabulary = count_file_terms([(text, "", "")], None).vocabulary.split()
    assert set(joined.split()) <= set(vocabulary)
    assert set(analyze(text)) <= set(vocabulary)
