"""Addresses of targets: secrets are taken out as soon as one is read."""

import pytest

from inorder.errors import OperatorError
from inorder.targets.address import find_secrets, has_scheme, hide_secrets


@pytest.mark.parametrize(
    ("given", "shown", "secrets"),
    [
        ("postgresql://me:s%40crt@host:5433/db", "postgresql://me@host:5433/db", {"password": "s@crt"}),
        ("postgresql://me:p[w@host/db", "postgresql://me@host/db", {"password": "p[w"}),
        ("postgresql://me:p\u2100w@host/db", "postgresql://me@host/db", {"password": "p\u2100w"}),
        ("postgresql://me:a@b:c@host/db", "postgresql://me@host/db", {"password": "a@b:c"}),
        ("postgresql://host/db?password=a+b%26c", "postgresql://host/db", {"password": "a+b&c"}),
        ("postgresql://me@host/db?user=a+b&options", "postgresql://me@host/db?user=a%2Bb&options=", {}),
        ("postgresql://host:5432/a@b", "postgresql://host:5432/a@b", {}),
        ("postgresql://[::1]/a@b", "postgresql://[::1]/a@b", {}),
        ("postgresql:///db?host=/run/pg&password=s", "postgresql:///db?host=%2Frun%2Fpg", {"password": "s"}),
        ("postgresql://:only@host/db", "postgresql://@host/db", {"password": "only"}),
        ("https://host:6333/?api_key=k", "https://host:6333/", {"api_key": "k"}),
        ("postgresql://me@host/db?sslmode=require", "postgresql://me@host/db?sslmode=require", {}),
        ("qdrant:///tmp/place", "qdrant:///tmp/place", {}),
        ("duckdb:////tmp/file.duckdb", "duckdb:////tmp/file.duckdb", {}),
        ("folder/name", "folder/name", {}),
    ],
)
def test_an_address_is_shown_without_its_secrets(given: str, shown: str, secrets: dict[str, str]) -> None:
    assert hide_secrets(given) == shown
    assert find_secrets(shown) == secrets
    assert hide_secrets(shown) == shown
    assert find_secrets(shown) == secrets


@pytest.mark.parametrize(
    "given", ["x://me:SES/AME@host/db", "x://me:SES?AME@host", "x://me:SES#AME@host/db", "x://me:SES@AME/x@host/db"]
)
def test_a_password_that_ends_at_the_wrong_place_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(OperatorError, match="in a password write / as %2F") as caught:
        hide_secrets(given)
    assert "SES" not in str(caught.value)
    assert "AME" not in str(caught.value)


@pytest.mark.parametrize(("text", "expected"), [("a://b", True), ("s3+x://b", True), ("a/b", False), ("c:/x", False)])
def test_a_folder_is_not_an_address(text: str, expected: bool) -> None:
    assert has_scheme(text) is expected
