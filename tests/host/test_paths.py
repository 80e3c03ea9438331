"""Which paths may be believed."""

import pytest

from inorder.errors import OperatorError
from inorder.host.paths import find_path_problem, require_safe_relative

UNSAFE = ["", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", ".", "./a", "a/./b", "a//b", "a/", "a\0b", "\udcff"]


@pytest.mark.parametrize("path", UNSAFE)
def test_a_path_that_is_not_plainly_beneath_its_folder_is_refused_with_the_reason(path: str) -> None:
    reason = find_path_problem(path)
    assert reason is not None
    with pytest.raises(OperatorError, match="cannot be used") as caught:
        require_safe_relative(path)
    assert str(caught.value).endswith(reason)
    assert repr(path) in str(caught.value)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/a", "absolute"),
        ("a\0b", "null character"),
        ("a/../b", "leaves its directory"),
        ("a/./b", "normal form"),
        ("\ud800", "not valid Unicode"),
    ],
)
def test_the_reason_is_the_one_that_helps(path: str, reason: str) -> None:
    assert reason in (find_path_problem(path) or "")


@pytest.mark.parametrize("path", ["a", "a/b", "...", "a..b/c", ".hidden", "ü/日本", "a b", "a\nb", "~", "-rf"])
def test_a_plain_path_is_itself(path: str) -> None:
    assert find_path_problem(path) is None
    assert require_safe_relative(path) == path
