"""Names split into what people search for."""

import pytest

from inorder.code.words import extract_identifiers

pytestmark = pytest.mark.req("IDX-1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseHTTPHeader", "parsehttpheader parse http header"),
        ("retry_count_max", "retry_count_max retry count max"),
        ("__init__", "__init__ init"),
        ("utf8Text x2", "utf8text utf text x2"),
        ("Größe_max", "größe_max größe max"),
        ("f(x, f, X)", "f x"),
        ("0xFF 12 a", "a"),
        ("MAX", "max"),
        ("", ""),
    ],
)
def test_a_name_is_kept_and_split(text: str, words: str) -> None:
    assert extract_identifiers(text) == words


def test_words_come_once_in_the_order_they_appear() -> None:
    assert extract_identifiers("getUser(user, getName)") == "getuser get user getname name"


def test_what_is_too_long_for_a_name_is_left_out() -> None:
    assert extract_identifiers("key = 'QUJD" + "RUZH" * 20 + "'") == "key"
