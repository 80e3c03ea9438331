"""Every test of this folder runs twice: with the compiled functions, and with their references in Python."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.code.compiled import COMPILED, use_python


@pytest.fixture(autouse=True, params=[pytest.param(nullcontext, marks=COMPILED, id="compiled"), use_python])
def _functions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use the functions of one kind."""
    with request.param():
        yield
