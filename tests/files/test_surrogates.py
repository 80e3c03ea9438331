"""Structs with strings that are not valid Unicode are encoded and restored."""

import os

import msgspec
import pytest

from inorder.files.surrogates import escape_fields, restore_fields


class Place(msgspec.Struct, frozen=True):
    """Two strings and a number."""

    path: str
    name: str = ""
    size: int = 0


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("path", [os.fsdecode(b"a/\xff\xfe.md"), "nul\0dc80", "\ud800 alone", "plain"])
def test_a_struct_is_restored_after_its_way_through_an_encoding(path: str) -> None:
    place = Place(path, f"{path} too", 7)
    encoded = msgspec.msgpack.encode(escape_fields(place))
    read = msgspec.msgpack.decode(encoded, type=Place)
    assert restore_fields(read, read.path) == place


def test_a_struct_without_such_strings_stays_as_it_is() -> None:
    place = Place("docs/é.md")
    assert restore_fields(place, place.path) is place
    assert escape_fields(place) == place
