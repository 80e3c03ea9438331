"""A consumer that waits for one result is told which."""

import warnings

import pytest

import inorder
from tests.support.gates import Gate

pytestmark = pytest.mark.req("STL-1")


def test_the_warning_names_the_item_once_and_the_line_that_waits() -> None:
    with Gate() as gate, warnings.catch_warnings(record=True, action="always") as caught:
        show = warnings.showwarning

        def open_gate(*arguments: object, **options: object) -> None:
            show(*arguments, **options)  # type: ignore[arg-type]
            gate.open()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(warnings, "showwarning", open_gate)
            assert list(
                inorder.imap(
                    gate.hold,
                    ["report.pdf"],
                    workers=1,
                    where="threads",
                    options=inorder.RunOptions(stall_warning_s=0.05),
                )
            ) == ["report.pdf"]
    [warning] = [one for one in caught if "no result" in str(one.message)]
    assert str(warning.message) == "no result for 0 s; waiting for worker 0, which holds seq 0 ('report.pdf')"
    assert issubclass(warning.category, RuntimeWarning)
    assert warning.filename == __file__


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="stall_warning_s must be between 0 and 1000000000, got -1"):
        inorder.imap(str, [], where="threads", options=inorder.RunOptions(stall_warning_s=-1))
