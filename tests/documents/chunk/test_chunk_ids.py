"""Ids of chunks: the same today and tomorrow, for the same text at the same place of the same document."""

import unicodedata
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.chunk.chunks import build_chunks, derive_chunk_id, format_chunk_id, pack_chunk_id
from inorder.documents.chunk.tokens import count_words
from tests.documents.chunk.laws import pieces_from

pytestmark = pytest.mark.req("DOC-2")


def ids(doc_id: str, *texts: str) -> list[str]:
    return [chunk.chunk_id for chunk in build_chunks(doc_id, pieces_from(*texts), count_words, 2, 4)]


def test_ids_are_those_they_have_always_been() -> None:
    assert ids("docs/tale.md", "The keeper sleeps.", "Caf\u00e9, \ufb01n!") == [
        "3fe62fb0-1630-5432-8d05-2b561d07c76a",
        "b6527403-5f6f-577b-a856-759bda6cdc45",
    ]


@pytest.mark.slow
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_an_id_does_not_depend_on_how_characters_are_composed(text: str, form: str) -> None:
    assert derive_chunk_id("tale", 7, text) == derive_chunk_id("tale", 7, unicodedata.normalize(form, text))


def test_composed_and_decomposed_documents_share_the_ids_of_what_has_the_same_place() -> None:
    composed = ids("tale", "caf\u00e9 \ufb01n so", "same same same same")
    decomposed = ids("tale", unicodedata.normalize("NFD", "caf\u00e9 \ufb01n so"), "same same same same")
    assert composed[0] == decomposed[0]
    assert composed[1] != decomposed[1]


def test_another_document_place_or_text_has_another_id() -> None:
    places = [("a", 0, "x"), ("b", 0, "x"), ("a", 1, "x"), ("a", 0, "y")]
    assert len({derive_chunk_id(*place) for place in places}) == 4
    assert not set(ids("a", "one two three four", "so so so so")) & set(ids("b", "one two three four", "so so so so"))


def test_the_same_text_twice_in_a_document_has_two_ids() -> None:
    assert len(set(ids("tale", *["so so so so"] * 5))) == 5


def test_what_changes_behind_a_chunk_does_not_change_its_id() -> None:
    first, *_ = ids("tale", "one two three four", "so so so so")
    assert ids("tale", "one two three four", "and now for something else")[0] == first


def test_an_id_is_packed_into_the_bytes_of_its_uuid() -> None:
    made = derive_chunk_id("a.md", 0, "text")
    assert pack_chunk_id(made) == uuid.UUID(made).bytes
    assert format_chunk_id(pack_chunk_id(made)) == made
    with pytest.raises(ValueError, match="badly formed"):
        pack_chunk_id("abcd")
