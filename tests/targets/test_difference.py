"""The difference between an index and a target."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.targets.base import ListedDocument
from inorder.targets.difference import compare, list_all

DOCUMENTS = st.dictionaries(st.text("abß€𝄞/", min_size=1, max_size=4), st.sampled_from(["1", "2", "3"]), max_size=12)


def listed(documents: dict[str, str]) -> Iterator[ListedDocument]:
    def list_page(after: str, count: int) -> list[ListedDocument]:
        return [ListedDocument(each, documents[each]) for each in sorted(documents) if each > after][:count]

    return list_all(list_page, count=3)


@pytest.mark.slow
@given(DOCUMENTS, DOCUMENTS)
def test_after_the_difference_the_target_equals_the_index(index: dict[str, str], target: dict[str, str]) -> None:
    result = dict(target)
    changed = []
    for found in compare(listed(index), listed(target)):
        changed.append(found.doc_id)
        if found.is_removal:
            del result[found.doc_id]
        else:
            assert result.get(found.doc_id) != found.hash
            result[found.doc_id] = found.hash
    assert result == index
    assert changed == sorted(set(changed))


def test_equal_lists_have_no_difference() -> None:
    assert list(compare(listed({"a": "1"}), listed({"a": "1"}))) == []


def test_a_page_is_read_when_the_one_before_is_used() -> None:
    pages: list[str] = []

    def list_page(after: str, count: int) -> list[ListedDocument]:
        pages.append(after)
        return [ListedDocument(f"{len(pages)}{at}", "1") for at in range(count)]

    assert len(list(itertools.islice(list_all(list_page, count=2), 3))) == 3
    assert pages == ["", "11"]


@pytest.mark.parametrize("held", [{"b": "1"}, {"a": "1", "c": "1"}])
def test_documents_beside_those_of_the_index_are_removed(held: dict[str, str]) -> None:
    found = list(compare(listed({}), listed(held)))
    assert [each.doc_id for each in found] == sorted(held)
    assert all(each.is_removal for each in found)
