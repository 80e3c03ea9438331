"""What an answer has to be cited: title, headings, place, neighbours; and how hits of one file stand together."""

import json
from typing import Any

import pytest

import inorder
from inorder.errors import OperatorError
from inorder.index.hits import Hit
from inorder.index.ranking.snippets import cut, looks_like_program, make_snippet
from inorder.index.search import SearchAnswer, SearchOptions, search
from inorder.library.opening import find_index
from tests.index.test_answers import make_hit
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

MANUAL = """# Horn manual

## Starting

{}

```sh
horn start --now
```

## Service

The horn is greased in spring. {}
"""
LONG_FUNCTION = "def sound_horn(times):\n" + "".join(
    f"    blow_air(pressure={number})  # the horn sounds again, part {number}\n" for number in range(400)
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("cited"), dense="none", tokens_max=64)
    filling = " ".join(f"Sentence number {number} says nothing about it." for number in range(12))
    runs.write("docs/manual.md", MANUAL.format(f"The horn starts when fog comes. {filling}", filling))
    runs.write("docs/plain.txt", "A horn was heard once.\n")
    runs.write("code/horn.py", LONG_FUNCTION)
    runs.run("docs", "code")
    return runs


def ask(runs: FolderRuns, question: str, **options: Any) -> SearchAnswer:
    return search(find_index(str(runs.data)), question, SearchOptions(**options))


def call(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(("search", "--data", str(runs.data), *arguments), runs.folder, clean_environment())


def test_a_hit_says_what_it_is_called_and_how_to_cite_it(runs: FolderRuns) -> None:
    hits = {hit.heading_path[-1] if hit.heading_path else hit.path: hit for hit in ask(runs, "horn").hits}
    service = hits["Service"]
    assert (service.title, service.heading_path) == ("Horn manual", ["Horn manual", "Service"])
    assert service.citation.startswith("Horn manual, Service, ")
    assert service.citation.endswith("docs/manual.md")
    plain = next(hit for hit in hits.values() if hit.item_id == "docs/plain.txt")
    assert (plain.title, plain.heading_path) == ("plain.txt", [])
    assert plain.citation.endswith("docs/plain.txt")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"pages": [3], "path": "a.pdf", "context": "Report > Costs > a pdf"}, "Report, Costs, a.pdf, page 3"),
        ({"pages": [3, 4, 5], "path": "a.pdf", "context": "Report > a pdf"}, "Report, a.pdf, pages 3-5"),
        ({"path": "a.txt", "context": "a txt"}, "a.txt"),
        ({"file_kind": "code", "kind": "method", "name": "A.run", "path": "a.py"}, "method A.run, a.py, lines 1-9"),
        ({"file_kind": "code", "kind": "lines", "path": "a.py"}, "a.py, lines 1-9"),
    ],
)
def test_a_citation_has_the_page_or_the_lines(values: dict[str, Any], expected: str) -> None:
    assert make_hit("text", **values).citation == expected


def test_hits_of_one_file_stand_together_and_the_best_file_is_first(runs: FolderRuns) -> None:
    answer = ask(runs, "horn", only="document")
    assert len(answer.files) == 2
    assert answer.files[0].hits[0] is answer.hits[0]
    _, out, _ = call(runs, "horn", "--only", "document")
    places = [line.split()[0].partition(":")[0] for line in out.splitlines() if not line.startswith(" ")]
    assert len(places) == len(answer.hits) > len(set(places)) == 2
    assert places == sorted(places, key=places.index)
    _, out, _ = call(runs, "horn", "--only", "document", "--json")
    found = json.loads(out)
    assert [each["item_id"] for each in found["files"]] == [each.item_id for each in answer.files]
    assert sorted(rank for each in found["files"] for rank in each["hits"]) == [hit["rank"] for hit in found["hits"]]
    assert found["hits"][0]["citation"].startswith("Horn manual, ")


def test_the_parts_of_one_function_are_one_hit(runs: FolderRuns) -> None:
    hits = ask(runs, "blow air pressure", only="code").hits
    assert [hit.name for hit in hits] == ["sound_horn"]


def test_neighbours_are_added_on_demand(runs: FolderRuns) -> None:
    [hit] = ask(runs, "greased", context=1).hits
    with inorder.open(runs.data) as data:
        whole = [chunk.text for chunk in data.chunks() if chunk.doc_id == "docs/manual.md"]
    at = whole.index(hit.text)
    assert hit.before == whole[at - 1 : at]
    assert hit.after == whole[at + 1 : at + 2]
    with inorder.open(runs.data) as data:
        [hit] = data.search("greased", context=20).hits
    assert [*hit.before, hit.text, *hit.after] == whole
    assert ask(runs, "greased").hits[0].before == []
    with pytest.raises(OperatorError, match="context must be 0 to 20; got 21"):
        ask(runs, "greased", context=21)


def snippet(text: str, word: str) -> list[str]:
    from inorder.index.query import parse_query

    hit: Hit = make_hit(text)
    return [line.text for line in make_snippet(hit, parse_query(word).make_groups())]


def test_a_snippet_does_not_join_a_program_and_prose() -> None:
    program = "horn start --now\nhorn_test(seconds=1)"
    text = f"Start it by hand.\n\n{program}\n\nSound travels far.\n\nIt is heard in the horn room."
    assert snippet(text, "seconds") == ["horn start --now", "horn_test(seconds=1)"]
    assert snippet(text, "travels") == ["Sound travels far.", "It is heard in the horn room."]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("$ celery -A proj purge", True),
        (">>> result.get()", True),
        ("x = 1", True),
        ("return self.horn(seconds)", True),
        ("Repairs cost 4,200 (see page 3).", False),
        ("The option --now starts the horn at once, whatever the weather says.", False),
        ("item one", False),
    ],
)
def test_lines_of_programs_are_told_from_prose(line: str, expected: bool) -> None:
    assert looks_like_program(line) == expected


@pytest.mark.parametrize("start", [0, 33, 57])
def test_a_long_line_is_cut_between_words(start: int) -> None:
    text = "keeper lamp horn foghorn signal " * 20
    begin, end = cut(text, 100, start)
    assert 60 <= end - begin <= 100
    assert set(text[begin:end].split()) <= set(text.split())
    assert cut("灯塔" * 100, 50, 10) == (10, 60)
    assert cut("short", 100) == (0, 5)


def test_whole_chunks_and_their_neighbours_are_printed(runs: FolderRuns) -> None:
    question = ("greased in spring", "-k", "1")
    _, snippet, _ = call(runs, *question)
    assert "horn start --now" not in snippet
    code, out, _ = call(runs, *question, "--neighbours", "2")
    answer = ask(runs, "greased in spring", count=1, context=2)
    [hit] = answer.hits
    assert hit.before
    texts = [line.strip() for part in (*hit.before, hit.text, *hit.after) for line in part.splitlines() if line.strip()]
    assert (code, out.splitlines()[0]) == (0, snippet.splitlines()[0])
    assert [line.strip() for line in out.splitlines()[1:] if line.strip()] == texts
    found = json.loads(call(runs, *question, "--neighbours", "2", "--json")[1])
    assert (found["hits"][0]["before"], found["hits"][0]["after"]) == (hit.before, hit.after)


def test_more_neighbours_than_the_limit_are_refused(runs: FolderRuns) -> None:
    code, _, err = call(runs, "horn", "--neighbours", "21")
    assert (code, "--neighbours" in err) == (2, True)
