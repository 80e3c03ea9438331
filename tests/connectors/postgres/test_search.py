"""Search in an export, beside search in the index that was exported."""

from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.index.search import SearchAnswer, SearchOptions
from inorder.index.search import search as search_locally
from inorder.library.opening import find_index
from inorder.targets.postgres.search import search, translate_glob
from tests.connectors.postgres.exports import Corpus, export, make_texts
from tests.connectors.postgres.server import PostgresServer
from tests.support.in_process import run_in_process

SAMPLE = Path(__file__).parents[3] / "examples" / "sample"
SOURCES = Path(__file__).parents[3] / "src" / "inorder" / "core"
QUESTIONS = [
    "how often is the lamp lit",
    "what happens when a lease expires",
    "retry budget",
    "commit order of results",
    "fog",
    "Kernel.step",
    "kernel step event commands",
    "backpressure memory window",
    "Leuchtturm",
    "the",
    "zzzunknown",
    "灯",
]
DEPTH = 10


@pytest.fixture(scope="module", params=["hash:64", "static"])
def place(
    request: pytest.FixtureRequest, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """DATA with the sample and some source code, and the address that it was exported to."""
    corpus = Corpus(tmp_path_factory.mktemp("corpus"), dense=request.param, tokens_max=80)
    (corpus.folder / "sample").symlink_to(SAMPLE)
    (corpus.folder / "core").symlink_to(SOURCES)
    for name, text in make_texts(30, "first").items():
        (corpus.docs / name).write_text(text)
    (corpus.docs / "灯.md").write_text("# 灯塔\n\n灯塔守护者点亮灯。\n")
    corpus.run("docs", "sample", "core")
    name = f"search_{request.param.partition(':')[0]}"
    server.create_database(name)
    export(corpus.data, server.address(name), hnsw=request.param == "static")
    return str(corpus.data), server.address(name)


def list_hits(answer: SearchAnswer) -> list[tuple[str, int]]:
    return [(hit.item_id, hit.number) for hit in answer.hits]


def compare(place: tuple[str, str], question: str, options: SearchOptions) -> None:
    """The first hit is the same, nine of ten hits are, and so are their scores."""
    data, address = place
    ours, theirs = search_locally(find_index(data), question, options), search(address, "inorder", question, options)
    assert (ours.mode, ours.mode_reason) == (theirs.mode, theirs.mode_reason)
    expected, found = list_hits(ours), list_hits(theirs)
    assert len(found) == len(expected)
    assert found[:1] == expected[:1]
    assert len(set(found) & set(expected)) >= 0.9 * len(expected)
    for one, other in zip(ours.hits, theirs.hits, strict=True):
        assert other.score == pytest.approx(one.score, abs=1e-4)
    if ours.hits:
        one, other = ours.hits[0], theirs.hits[0]
        fields = ("chunk_id", "file_kind", "language", "kind", "name", "context", "start", "end", "pages", "text")
        assert [getattr(other, field) for field in fields] == [getattr(one, field) for field in fields]


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_the_index(place: tuple[str, str], mode: str, question: str) -> None:
    compare(place, question, SearchOptions(mode=mode, count=DEPTH))


@pytest.mark.parametrize(
    "filters",
    [
        {"only": "code"},
        {"only": "document"},
        {"language": "python"},
        {"language": "en"},
        {"kind": "function"},
        {"path": "docs/0[01]*.md"},
        {"path": "core/*.py", "kind": "method"},
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_conditions_hold_as_in_the_index(place: tuple[str, str], filters: dict[str, str], mode: str) -> None:
    compare(place, "retry of the keeper", SearchOptions(mode=mode, count=DEPTH, **filters))


@pytest.mark.parametrize("question", ['"fog horn"', '"note 7" lamps', "lamps -fog", '"edition of" -horn', '"horn fog"'])
@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_phrases_and_words_to_leave_out_hold_as_in_the_index(place: tuple[str, str], question: str, mode: str) -> None:
    compare(place, question, SearchOptions(mode=mode, count=DEPTH))


def test_a_phrase_that_one_chunk_of_many_has_is_found(tmp_path: Path, database: str, address: str) -> None:
    corpus = Corpus(tmp_path, tokens_max=30)
    lines = [f"Horn heard in fog {'later ' * (number % 9)}{number}." for number in range(900)]
    corpus.make({"many.md": "\n\n".join(f"# N {at}\n\n{line}" for at, line in enumerate(lines))})
    (corpus.docs / "one.md").write_text(f"# Reef\n\nThe fog horn of it {'and nothing else ' * 6}\n")
    corpus.run()
    export(corpus.data, address)
    for mode in ("lexical", "dense", "hybrid"):
        for question in ('"fog horn"', "fog -heard"):
            answer = search(address, "inorder", question, SearchOptions(mode=mode))
            assert [hit.item_id for hit in answer.hits] == ["docs/one.md"], (mode, question)


def test_a_value_that_nothing_has_is_refused(place: tuple[str, str]) -> None:
    with pytest.raises(OperatorError, match="nothing in the index has language 'klingon'"):
        search(place[1], "inorder", "lamp", SearchOptions(language="klingon"))


def test_the_command_prints_what_it_found(place: tuple[str, str], tmp_path: Path) -> None:
    line = ["search", "keeper", "--index", place[1], "--json", "-k", "3"]
    code, out, err = run_in_process(line, tmp_path, {})
    assert code == 0, err
    assert out.count('"chunk_id"') == 3
    code, out, err = run_in_process([*line, "--collection", "elsewhere"], tmp_path, {})
    assert code == 2
    assert "no schema elsewhere of an export" in err
    code, out, err = run_in_process(["search", "def:step", "--index", place[1]], tmp_path, {})
    assert code == 2
    assert "def: needs the index in DATA" in err


def test_an_empty_database_has_no_export(server: PostgresServer, address: str) -> None:
    with pytest.raises(OperatorError, match="no schema inorder of an export"):
        search(address, "inorder", "lamp", SearchOptions())


@pytest.mark.parametrize(
    ("glob", "expression"),
    [("src/*.py", r"^src/.*\.py$"), ("a?b", "^a.b$"), ("[ab]c", "^[ab]c$"), ("[^a]", "^[^a]$"), ("a[", r"^a\[$")],
)
def test_a_glob_becomes_an_expression(glob: str, expression: str) -> None:
    assert translate_glob(glob) == expression


def test_after_an_update_answers_are_those_of_the_new_index(
    tmp_path: Path, server: PostgresServer, database: str, address: str
) -> None:
    corpus = Corpus(tmp_path)
    corpus.make(make_texts(12, "first"))
    export(corpus.data, address)
    texts = make_texts(12, "second")
    del texts["004.md"]
    corpus.make(texts)
    export(corpus.data, address)
    compare((str(corpus.data), address), "second edition fog bell", SearchOptions(count=DEPTH))
