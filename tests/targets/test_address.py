"""What is the address of a target, and what the name of a folder."""

import pytest

from inorder.errors import OperatorError
from inorder.targets.address import has_scheme
from inorder.targets.postgres.schema import check_collection


@pytest.mark.parametrize(("text", "expected"), [("a://b", True), ("s3+x://b", True), ("a/b", False), ("c:/x", False)])
def test_a_folder_is_not_an_address(text: str, expected: bool) -> None:
    assert has_scheme(text) is expected


@pytest.mark.parametrize("name", ["pg_catalog", "1st", "two words", "x" * 61, "", 'a"b'])
def test_a_name_that_no_schema_can_have_is_refused(name: str) -> None:
    with pytest.raises(OperatorError, match="--collection must be a name"):
        check_collection(name)


def test_a_name_that_a_schema_can_have_is_accepted() -> None:
    check_collection("Notes_2" + "x" * 53)
