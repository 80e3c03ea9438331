"""Questions that are made from DATA, with the files that answer them."""

import json

import pytest

from inorder.dataset.questions import make_questions
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("SEA-4")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("made"), dense="none")
    long = "Press the lever and count to ten before it is released. " * 60
    runs.write("docs/horn.md", f"# Sounding the fog horn\n\n{long}\n\n## When ships are near us\n\n{long}\n")
    runs.write("docs/lamp/index.md", "# Lamp\n\nTrim it. See [what to do in thick weather](../horn.md#x).\n")
    runs.write(
        "docs/start.md",
        "# Start\n\n[how the light is kept burning](/docs/lamp/), [sounding the fog horn](horn.md), "
        "[a page of somebody else](https://example.org/horn.md), [one that is not there](gone.md).\n",
    )
    runs.write(
        "src/lamp.py",
        'def trim(wick):\n    """Cut the wick to\n    the right length. Then light it."""\n    return wick\n',
    )
    runs.run("docs", "src")
    return runs


def test_links_titles_headings_and_docstrings_become_questions(runs: FolderRuns) -> None:
    assert {tuple(question) for question in make_questions(str(runs.data))} == {
        ("link", "what to do in thick weather", "docs/horn.md"),
        ("link", "how the light is kept burning", "docs/lamp/index.md"),
        ("title", "Sounding the fog horn", "docs/horn.md"),
        ("heading", "When ships are near us", "docs/horn.md"),
        ("docstring", "Cut the wick to the right length", "src/lamp.py"),
    }


def test_made_questions_are_written_asked_and_read_again(runs: FolderRuns) -> None:
    command = ("eval", "--data", str(runs.data), "--make", "questions")
    code, out, err = run_in_process((*command, "--against", "mode=lexical"), runs.folder, clean_environment())
    assert code == 0, err
    assert "5 questions in questions: 2 links, 1 title, 1 heading, 1 docstring" in err
    assert "worth little" in err
    assert "link: nDCG@10 " in out
    assert "\np " in out
    again = ("eval", "questions/queries.jsonl", "questions/qrels.tsv", "--data", str(runs.data), "--json")
    code, out, _ = run_in_process(again, runs.folder, clean_environment())
    assert json.loads(out)["questions"] == 5
    code, _, err = run_in_process(command, runs.folder, clean_environment())
    assert (code, "is there already" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give QUERIES and QRELS, or make them with --make DIR"),
        (("queries.jsonl", "qrels.tsv", "--make", "other"), "--make and QUERIES exclude each other"),
    ],
)
def test_questions_are_given_or_made(runs: FolderRuns, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, err = run_in_process(("eval", *arguments, "--data", str(runs.data)), runs.folder, clean_environment())
    assert code == 2
    assert complaint in err
