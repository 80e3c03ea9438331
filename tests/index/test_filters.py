"""Conditions of a search: one value, several, and values that must not be met."""

import json
from typing import Any

import pytest

import inorder
from inorder.errors import OperatorError
from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

FILES = {
    "docs/en/lamp.md": "The lamp is lit in the evening, and it is the one that the keeper trims.\n",
    "docs/en/lamp.txt": "The lamp was bought in the town, and it is older than the house.\n",
    "docs/old/lamp.md": "The lamp of the old house is in the cellar, where it was left.\n",
    "docs/de/lampe.md": "Die Lamp ist an der Wand, und sie wird nicht mehr von der Wache benutzt.\n",
    "code/lamp.py": "def lamp():\n    return 1\n\n\nclass Lamp:\n    lamp = 2\n    size = 3\n    wick = 4\n",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("filters"), dense="none")
    for name, text in FILES.items():
        runs.write(name, text)
    runs.run("docs", "code")
    return runs


def found(runs: FolderRuns, **conditions: Any) -> list[str]:
    hits = search(find_index(str(runs.data)), "lamp", SearchOptions(**conditions)).hits
    return sorted({hit.item_id for hit in hits})


ENGLISH, TEXT, OLD, GERMAN, CODE = FILES


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"language": ["en", "de"]}, [GERMAN, ENGLISH, TEXT, OLD]),
        ({"language": "!en"}, [CODE, GERMAN]),
        ({"path": ["docs/en/*", "docs/old/*"]}, [ENGLISH, TEXT, OLD]),
        ({"path": ("docs/*", "!docs/old/*", "!*.txt")}, [GERMAN, ENGLISH]),
        ({"path": "!docs/*"}, [CODE]),
        ({"type": "md"}, [GERMAN, ENGLISH, OLD]),
        ({"type": [".TXT", "py"]}, [CODE, TEXT]),
        ({"type": "!md"}, [CODE, TEXT]),
        ({"source": "docs", "type": "!txt", "language": ["!de"]}, [ENGLISH, OLD]),
        ({"source": ["code", "docs"], "only": "code"}, [CODE]),
        ({"source": "!docs"}, [CODE]),
        ({"kind": ["section", "lines"], "path": "!docs/en/*"}, [GERMAN, OLD]),
        ({"path": [], "language": [""]}, [CODE, GERMAN, ENGLISH, TEXT, OLD]),
    ],
)
def test_conditions_take_several_values_and_values_to_leave_out(
    runs: FolderRuns, conditions: dict[str, Any], expected: list[str]
) -> None:
    assert found(runs, **conditions) == sorted(expected)


def test_the_command_line_python_and_json_have_the_same_conditions(runs: FolderRuns) -> None:
    asked = (
        "search",
        "lamp",
        "--data",
        str(runs.data),
        "--json",
        "--type",
        "md",
        "--type",
        "py",
        "--path",
        "!docs/old/*",
    )
    _, out, err = run_in_process(asked, runs.folder, clean_environment())
    assert err == ""
    expected = sorted([CODE, ENGLISH, GERMAN])
    assert sorted({hit["item_id"] for hit in json.loads(out)["hits"]}) == expected
    with inorder.open(runs.data) as data:
        hits = data.search("lamp", where={"type": ["md", "py"], "path": ["!docs/old/*"]}).hits
    assert sorted({hit.item_id for hit in hits}) == expected


@pytest.mark.parametrize("value", [3, None, ["md", 3], {"md": 1}])
def test_a_condition_that_is_no_text_is_one_line(runs: FolderRuns, value: Any) -> None:
    with pytest.raises(OperatorError, match="type must be a text or a list of texts; got "):
        found(runs, type=value)


def test_a_language_that_nothing_has_is_named_also_among_several(runs: FolderRuns) -> None:
    with pytest.raises(OperatorError, match="nothing in the index has language 'tlh'"):
        found(runs, language=["tlh"])
    assert found(runs, language=["tlh", "de"]) == [GERMAN]
