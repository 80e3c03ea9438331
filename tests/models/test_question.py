"""The key of a question: what is paid for, and nothing else."""

import pytest

from inorder.models.question import Question

pytestmark = pytest.mark.req("MOD-2")

FIRST = Question(model="http://h/v1#m", prompt="Read it.", parameters={"dpi": 144, "schema": {"a": 1}}, input_key="f#1")


@pytest.mark.parametrize(
    "other",
    [
        {"model": "http://h/v1#n"},
        {"prompt": "Read it!"},
        {"parameters": {"dpi": 145, "schema": {"a": 1}}},
        {"input_key": "f#2"},
    ],
    ids=["model", "prompt", "parameters", "input"],
)
def test_the_key_differs_with_each_part(other: dict[str, object]) -> None:
    fields = {name: getattr(FIRST, name) for name in FIRST.__struct_fields__}
    assert Question(**{**fields, **other}).key != FIRST.key


def test_the_key_does_not_depend_on_the_order_of_parameters() -> None:
    turned = Question(
        model=FIRST.model, prompt=FIRST.prompt, parameters={"schema": {"a": 1}, "dpi": 144}, input_key="f#1"
    )
    assert turned.key == FIRST.key


def test_the_key_stays_what_it_was_in_earlier_versions() -> None:
    assert FIRST.key == "26fa7ed5f3d7979f6aa14e0b355c969c9db2cb38ae3cb1dc6460f870ab0d7708"
