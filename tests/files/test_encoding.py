"""Bytes to text: what is certain is said plainly, what is guessed is said to be."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.errors import ReadError
from inorder.files.encoding import decode

pytestmark = pytest.mark.req("DOC-1")

TEXT = "Grüße, 你好, שלום, 😀\n" * 3


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_settles_it(mark: bytes, encoding: str) -> None:
    assert decode(mark + TEXT.encode(encoding)) == (TEXT, encoding, "")


def test_utf8_needs_no_mark_and_no_warning() -> None:
    assert decode(TEXT.encode()) == (TEXT, "utf-8", "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["plain words, nothing else\n", "多数の文字\nがあります。\n" * 4])
def test_wide_characters_without_a_mark_are_found_and_said_to_be_guessed(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert encoding in decoded.warning


def test_what_is_no_utf8_is_read_as_windows_1252_and_the_guess_is_named() -> None:
    decoded = decode("Grüße, “so”".encode("cp1252"))
    assert decoded.text == "Grüße, “so”"
    assert "Windows-1252" in decoded.warning


def test_bytes_that_windows_1252_does_not_have_are_latin_1() -> None:
    decoded = decode(b"caf\xe9 \x81")
    assert decoded.text == "café \x81"
    assert "Latin-1" in decoded.warning


def test_a_declared_encoding_counts_if_the_bytes_bear_it_out() -> None:
    assert decode("Привет".encode("koi8-r"), "KOI8-R").text == "Привет"
    assert decode("日本".encode("shift_jis"), "Shift_JIS").text == "日本"


def test_a_declared_encoding_that_is_wrong_is_said_to_be() -> None:
    decoded = decode("größer".encode("cp1252"), "utf-8")
    assert decoded.text == "größer"
    assert "utf-8" in decoded.warning


@pytest.mark.parametrize("declared", ["no-such-thing", "unicode_escape", "base64", "utf-7", "idna", "\x00"])
def test_a_declared_encoding_that_is_none_is_not_used(declared: str) -> None:
    assert decode(b"a\\x41+AGE-", declared).text == "a\\x41+AGE-"


def test_latin_1_means_windows_1252_as_browsers_have_it() -> None:
    assert decode(b"\x93so\x94", "iso-8859-1").text == "“so”"


@pytest.mark.parametrize(
    "data", [b"abc\0", b"text with one \0 in it", b"\0" * 100, bytes(range(256)) * 4, b"a\0b\0\0c"]
)
def test_nul_bytes_are_no_text(data: bytes) -> None:
    with pytest.raises(ReadError, match="NUL"):
        decode(data)


def test_bytes_full_of_control_characters_are_no_text() -> None:
    with pytest.raises(ReadError, match="control"):
        decode(bytes(range(1, 32)) + b"\xff")


def test_a_mark_that_lies_loses_only_what_is_wrong() -> None:
    decoded = decode(codecs.BOM_UTF8 + b"good \xff good")
    assert decoded.text == "good \ufffd good"
    assert "utf-8" in decoded.warning


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    try:
        decoded = decode(data)
    except ReadError:
        return
    decoded.text.encode("utf-8")


@pytest.mark.slow
@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=50))
def test_whatever_is_written_as_utf8_is_read_as_written(text: str) -> None:
    if not text.startswith("\ufeff"):
        assert decode(text.encode()).text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Привет! Сегодня хорошая погода в порту, и смотритель зажёг лампу."),
        ("koi8_r", "Привет! Сегодня хорошая погода в порту, и смотритель зажёг лампу."),
        ("gb18030", "灯塔看守人每天晚上点亮灯并在日志中记录时间。"),
        ("big5", "燈塔看守人每天晚上點亮燈並在日誌中記錄時間。"),
        ("cp932", "灯台守は夕方に明かりを灯し、時刻を記録する。メートルは三です。"),
        ("euc_kr", "등대지기는 해질녘에 등을 켜고 시간을 적는다."),
    ],
)
def test_another_script_is_made_out_and_said_to_be_a_guess(encoding: str, text: str) -> None:
    found = decode(text.encode(encoding))
    assert found.text == text
    assert "the most likely" in found.warning
