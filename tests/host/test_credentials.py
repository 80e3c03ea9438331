"""Addresses: credentials are taken out as soon as one is read, and are shown nowhere."""

import pytest

from inorder.errors import OperatorError
from inorder.host.credentials import find_credentials, hide_credentials, redact, restore_credentials

pytestmark = pytest.mark.req("SIL-4")


@pytest.mark.parametrize(
    ("given", "shown", "user", "password", "parameters"),
    [
        ("postgresql://me:s%40crt@host:5433/db", "postgresql://me@host:5433/db", "", "s@crt", {}),
        ("postgresql://me:p[w@host/db", "postgresql://me@host/db", "", "p[w", {}),
        ("postgresql://me:p\u2100w@host/db", "postgresql://me@host/db", "", "p\u2100w", {}),
        ("postgresql://me:a@b:c@host/db", "postgresql://me@host/db", "", "a@b:c", {}),
        ("postgresql://host/db?password=a+b%26c", "postgresql://host/db", "", "a+b&c", {}),
        ("postgresql:///db?host=/run/pg&password=s", "postgresql:///db?host=/run/pg", "", "s", {}),
        ("postgresql://:only@host/db", "postgresql://@host/db", "", "only", {}),
        ("postgresql://h/db?sslpassword=s&a=b", "postgresql://h/db?a=b", "", None, {"sslpassword": "s"}),
        ("https://host:6333/?api_key=k", "https://host:6333/", "", None, {"api_key": "k"}),
        ("openai:https://h/v1?%61pi_key=k#org/m@1", "openai:https://h/v1#org/m@1", "", None, {"api_key": "k"}),
        ("tei:http://me:s%40@[::1]:8080/?a=1&Key=k&b=2", "tei:http://[::1]:8080/?a=1&b=2", "me", "s@", {"key": "k"}),
        ("postgresql://me:two words@host/db", "postgresql://me@host/db", "", "two words", {}),
        ("http://h/?pwd=s&code=c&subscription-key=k&a=1", "http://h/?a=1", "", None, {"pwd": "s", "code": "c"}),
        ("http://f/?x-functions-key=s&session_id=i", "http://f/", "", None, {"x-functions-key": "s"}),
        ("https://TOKEN@host/a.pdf", "https://host/a.pdf", "TOKEN", None, {}),
        ("https://h/a?X-Amz-Date=1&X-Amz-Signature=s&p=2", "https://h/a?p=2", "", None, {"x-amz-signature": "s"}),
    ],
)
def test_an_address_is_shown_without_its_credentials(
    given: str, shown: str, user: str, password: str | None, parameters: dict[str, str]
) -> None:
    assert hide_credentials(given) == shown
    address = shown.removeprefix("openai:").removeprefix("tei:")
    found = find_credentials(address)
    assert (found.user, found.find_password()) == (user, password)
    assert {name: found.find_parameter(name) for name in parameters} == parameters
    assert hide_credentials(shown) == shown
    assert find_credentials(address) == found


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://me@host/db?user=a+b&options",
        "postgresql://host:5432/a@b",
        "postgresql://[::1]/a@b",
        "postgresql://me@host/db?sslmode=require&passfile=/home/me/.pgpass",
        "qdrant:///tmp/place",
        "duckdb:////tmp/file.duckdb",
        "openai:https://host/v1#@cf/baai/bge",
        "abfss://container@account.dfs.core.windows.net/a",
        "s3://arn:aws:s3:eu:1:accesspoint/x/a@b",
        "https://host/find?author=a,b&keyword=c%20d&max_page=3&postcode=1&monkey=2&compass=3;b",
        "openai:https://host/v1#org/model?v=2",
        "qdrant:///tmp/a@b",
        "folder/name",
        "docs/a:b@c?key=d",
        "hash:64",
    ],
)
def test_an_address_without_credentials_stays_as_it_is(given: str) -> None:
    assert hide_credentials(given) == given
    assert redact(given) == given


@pytest.mark.parametrize("given", ["https://me:s%40@host/a?x=1&sig=a%2Bb", "http://TOKEN@host/a?key=k", "http://h/"])
def test_what_connects_gets_the_address_with_its_credentials(given: str) -> None:
    assert restore_credentials(hide_credentials(given)) == given


@pytest.mark.parametrize(
    "given",
    [
        "x://me:SES/AME@host/db",
        "x://me:SES?AME@host",
        "x://me:SES#AME@host/db",
        "x://me:SES@AME/x@host/db",
        "x:///me:SES AME@h/db",
    ],
)
def test_a_password_that_ends_at_the_wrong_place_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(OperatorError, match="in a password write / as %2F") as caught:
        hide_credentials(given)
    for text in (str(caught.value), redact(given)):
        assert "SES" not in text
        assert "AME" not in text


@pytest.mark.parametrize(
    "given",
    [
        "openai:http:/me:SESAME@h/v1#m",
        "openai:http:me:SESAME@h/v1#m",
        "http:///me:SES AME@h/v1",
        "--to=qdrant:/me:SESAME@host/db",
    ],
)
def test_an_address_with_a_password_needs_two_slashes(given: str) -> None:
    with pytest.raises(OperatorError, match=r"needs two slashes, as in (http|qdrant)://host") as caught:
        hide_credentials(given)
    for text in (str(caught.value), redact(given)):
        assert "SES" not in text
        assert "AME" not in text


@pytest.mark.parametrize("given", ["openai:http://h/v1#m?api_key=SESAME", "https://h/a#access_token=SESAME&b=c"])
def test_a_key_behind_the_number_sign_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(OperatorError, match="write its parameters before the #") as caught:
        hide_credentials(given)
    assert "SESAME" not in str(caught.value) + redact(given)


def test_what_was_taken_out_of_an_address_is_hidden_wherever_it_is_repeated() -> None:
    hide_credentials("openai:http://tom:open it@127.0.0.1/?pwd=wide open&v=1#m")
    said = "no such option --dnse=openai:http://tom:open it@127.0.0.1/?pwd=wide open&v=1#m, said it"
    assert redact(said) == "no such option --dnse=openai:http://***:***@127.0.0.1/?pwd=***&v=1#m, said it"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("copy https://me:SES AME@host/a to b", "copy https://***:***@host/a to b"),
        ("cannot read http://me:SESAME@host/a?b=c: refused", "cannot read http://***:***@host/a?b=c: refused"),
        ("zip://a::https://me:SESAME@host/box.zip?sig=SESAME", "zip://a::https://***:***@host/box.zip?sig=***"),
        ("--dense=openai:http://host/?api_key=SESAME#m", "--dense=openai:http://host/?api_key=***#m"),
    ],
)
def test_text_is_shown_without_the_credentials_of_the_addresses_in_it(text: str, shown: str) -> None:
    assert redact(text) == shown
