"""The parameters of `imap` of version 0.2. They work until 0.4, with a warning."""

from typing import Any

import pytest

import inorder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "io"}, r"imap\(policy=\.\.\., engine=\.\.\.\) is now where='threads'; the old name goes in 0.4"),
        ({"policy": "inline"}, "is now where='inline'"),
        ({"where": "inline", "buffered_bytes_max": 2**20}, r"is now options=inorder\.RunOptions\(buffered_bytes_max="),
        ({"where": "inline", "windows": None}, r"is now options=inorder\.RunOptions\(windows="),
    ],
    ids=str,
)
def test_a_former_parameter_works_and_names_the_new_one(options: dict[str, Any], said: str) -> None:
    with pytest.warns(DeprecationWarning, match=said) as warned:
        results = inorder.imap(abs, range(3), **options)
    assert warned[0].filename == __file__
    assert list(results) == [0, 1, 2]


@pytest.mark.process
def test_the_policy_cpu_and_the_engine_local_are_processes() -> None:
    with pytest.warns(DeprecationWarning, match="is now where='processes'"):
        results = inorder.imap(abs, range(3), policy="cpu", engine="local", workers=1)
    assert list(results) == [0, 1, 2]


def test_a_former_option_joins_the_options_that_are_given() -> None:
    options = inorder.RunOptions(budgets=inorder.Budgets(buffered_bytes_soft=20))
    refused = pytest.raises(inorder.OperatorError, match=r"budgets\.buffered_bytes_soft must")
    with pytest.warns(DeprecationWarning, match="is now"), refused:
        inorder.imap(abs, range(3), buffered_bytes_max=10, options=options)


def test_an_unknown_parameter_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"imap\(\) got an unexpected keyword argument 'polcy'"):
        inorder.imap(abs, range(3), polcy="io")  # type: ignore[call-overload]
