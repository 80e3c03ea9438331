"""What is the address of a target, and what the name of a folder."""

import pytest

from inorder.targets.address import has_scheme


@pytest.mark.parametrize(("text", "expected"), [("a://b", True), ("s3+x://b", True), ("a/b", False), ("c:/x", False)])
def test_a_folder_is_not_an_address(text: str, expected: bool) -> None:
    assert has_scheme(text) is expected
