"""The vectors of an index that changes: new ones go to further files, and everything is as if they were in one."""

import random
from pathlib import Path

import pytest

from inorder.index.schema import read_meta
from inorder.index.vector_files import MatrixFile, MatrixWriter
from inorder.index.vectors import row_chunks
from inorder.targets.index_reader import IndexReader
from tests.index.documents import make_indexed
from tests.index.vectors.corpus import Corpus, make_corpus
from tests.library.libraries import commit, opened
from tests.library.making import make_removal

pytestmark = pytest.mark.req("IDX-3", "IDX-5")
WORDS = ("tide", "lamp", "horn", "fog", "keeper", "wick", "oil", "bell", "reef", "anchor", "rope", "mast", "sail")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return make_corpus(tmp_path / "data")


def note_altered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are read and compared with their digest from now on."""
    checked: list[str] = []
    is_altered = MatrixFile.is_altered

    def note(file: MatrixFile) -> bool:
        checked.append(file.name)
        return is_altered(file)

    monkeypatch.setattr(MatrixFile, "is_altered", note)
    return checked


# ---- what is written


def test_a_change_writes_the_new_vectors_only_and_reads_no_file(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first] = corpus.list_files()
    checked = note_altered(monkeypatch)
    corpus.change({"03": ["lamp", "wick"], "99": ["horn"]})
    assert checked == []
    files = corpus.list_files()
    assert [(file.shape, file.dead) for file in files] == [((20, 64), 1), ((3, 64), 0)]
    assert files[0].path == first.path
    assert Path(files[1].path).stat().st_size == 3 * 64 * 4
    monkeypatch.undo()
    assert len(corpus.read()[1]) == 22


def test_a_removal_writes_no_file_and_its_vector_is_gone(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    before = corpus.list_files()
    monkeypatch.delattr(MatrixWriter, "append")
    corpus.change({"03": None})
    [file] = corpus.list_files()
    assert (file.path, file.dead) == (before[0].path, 1)
    assert {name for name, *_ in corpus.read()[1]} == set(corpus.texts)
    assert "03" not in [name for name, *_ in corpus.search("tide 3", "dense")]
    assert corpus.search("tide 0", "dense")[0][0] == "00"


def test_documents_without_vectors_write_no_file(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    before = corpus.list_files()
    monkeypatch.delattr(MatrixWriter, "append")
    corpus.change({"plain": ["no vectors"]}, provider="")
    assert corpus.list_files() == before
    assert "plain" in [name for name, *_ in corpus.search("vectors", "lexical")]


@pytest.mark.slow
def test_a_file_whose_rows_are_all_dead_is_removed(corpus: Corpus) -> None:
    names = set()
    for text in ("lamp", "horn", "fog", "bell", "reef", "lamp"):
        corpus.change({"03": [text]})
        assert [(file.shape[0], file.dead) for file in corpus.list_files()] == [(20, 1), (1, 0)]
        names.add(corpus.list_files()[1].name)
    assert len(names) == 5
    assert len(corpus.read()[1]) == 20


@pytest.mark.slow
@pytest.mark.parametrize(("removed", "is_written_again"), [(5, False), (6, True)])
def test_all_vectors_are_written_again_when_more_than_a_quarter_are_dead(
    corpus: Corpus, tmp_path: Path, removed: int, is_written_again: bool
) -> None:
    [before] = corpus.list_files()
    corpus.change({f"{number:02}": None for number in range(removed)})
    [file] = corpus.list_files()
    assert (file.name != before.name) == is_written_again
    assert (file.shape[0], file.dead) == ((14, 0) if is_written_again else (20, 5))
    fresh = corpus.build_fresh(tmp_path / "fresh")
    assert corpus.read() == fresh.read()
    assert (file.name == fresh.list_files()[0].name) == is_written_again


@pytest.mark.slow
def test_only_rows_that_are_alive_are_merged(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "data", 40)
    with opened(corpus.data) as sink:
        for number in range(6):
            for name in ("a", "b"):
                commit(sink, make_indexed(f"{number}{name}", f"lamp {number} {name}"))
            sink.publish()
        commit(sink, make_removal("0a"), make_removal("2b"))
        sink.publish()
        assert [(file.shape[0], file.dead) for file in corpus.list_files()] == [
            (40, 0),
            (2, 1),
            (2, 0),
            (2, 1),
            *[(2, 0)] * 3,
        ]
        commit(sink, make_indexed("new", "bell"))
        sink.publish()
        assert [(file.shape[0], file.dead) for file in corpus.list_files()] == [(40, 0), (11, 0)]
    corpus.texts |= {f"{number}{name}": [f"lamp {number} {name}"] for number in range(6) for name in ("a", "b")}
    corpus.texts = {**corpus.texts, "new": ["bell"]}
    del corpus.texts["0a"], corpus.texts["2b"]
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()


@pytest.mark.slow
def test_files_with_the_same_vectors_have_one_name(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "data", 40)
    corpus.change({"a": ["lamp"]})
    corpus.change({"b": ["lamp"]})
    [_, second, third] = corpus.list_files()
    assert second.name == third.name
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()
    corpus.change({"a": None})
    assert [file.name for file in corpus.list_files()[1:]] == [third.name]
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh again").read()


# ---- what is found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_after_any_history_vectors_hits_and_scores_are_those_of_an_index_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(row_chunks, "BLOCK_ROWS", 7)
    chance = random.Random(seed)
    corpus = Corpus(tmp_path / "data")

    def write() -> list[str]:
        return [" ".join(chance.choices(WORDS, k=5)) for _ in range(chance.randint(1, 3))]

    corpus.change({f"{number:02}": write() for number in range(30)})
    counts = set()
    for _ in range(14):
        names = chance.sample([f"{number:02}" for number in range(40)], chance.choice([1, 1, 2, 3]))
        corpus.change({name: None if name in corpus.texts and chance.random() < 0.3 else write() for name in names})
        files = corpus.list_files()
        counts.add(len(files))
        rows, dead = sum(file.shape[0] for file in files), sum(file.dead for file in files)
        assert dead * 4 <= rows
    assert max(counts) > 2
    fresh = corpus.build_fresh(tmp_path / "fresh")
    assert corpus.read() == fresh.read()
    for question in ("tide", "lamp and horn", "keeper of the wick", "anchor rope mast sail"):
        for mode in ("lexical", "dense", "hybrid", "auto"):
            assert corpus.search(question, mode) == fresh.search(question, mode)
    assert len(fresh.search("tide", "dense")) > 20


@pytest.mark.slow
def test_an_export_has_the_vectors_of_all_files(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "data", 60)
    for number in range(3):
        corpus.change({f"0{number}": [f"lamp {number}", "wick"], "19": [f"horn {number}"]})
    assert len(corpus.list_files()) > 2
    corpus.change({"05": None})
    fresh = corpus.build_fresh(tmp_path / "fresh")
    exports = []
    for each in (corpus, fresh):
        reader = IndexReader(str(each.data))
        documents = [reader.read(name) for name in sorted(each.texts)]
        exports.append([[chunk.vector for chunk in found.chunks] for found in documents if found is not None])
        assert reader.layout.dimensions == 64
        reader.close()
    assert exports[0] == exports[1]
    assert all(len(vector) == 4 * 64 for vectors in exports[0] for vector in vectors)


# ---- other providers


@pytest.mark.slow
def test_vectors_of_another_provider_are_not_added_to_a_file(corpus: Corpus) -> None:
    corpus.change({"99": ["lamp"]}, provider="hash:32")
    assert corpus.read_provider() == "hash:64"
    assert "99" not in {name for name, *_ in corpus.read()[1]}
    corpus.change({name: texts for name, texts in corpus.texts.items() if name != "99"}, provider="hash:32")
    [file] = corpus.list_files()
    assert (file.shape, file.dead) == ((21, 32), 0)
    assert corpus.read_provider() == "hash:32"
    assert len(corpus.read()[1]) == 21


def test_vectors_that_were_left_out_are_added_when_those_of_the_other_provider_are_gone(corpus: Corpus) -> None:
    corpus.change({"99": ["lamp"]}, provider="hash:32")
    corpus.change({name: None for name in corpus.texts if name != "99"})
    [file] = corpus.list_files()
    assert (file.shape, file.dead) == ((1, 32), 0)
    assert [name for name, *_ in corpus.read()[1]] == ["99"]


def test_vectors_of_the_same_width_and_another_provider_are_not_added_either(corpus: Corpus) -> None:
    corpus.change({"99": ["lamp"]}, spec="other")
    assert "99" not in {name for name, *_ in corpus.read()[1]}
    assert len(corpus.list_files()) == 1


@pytest.mark.slow
def test_when_all_documents_are_removed_no_file_is_left_and_others_can_follow(corpus: Corpus) -> None:
    corpus.change({"00": ["lamp"]})
    corpus.change(dict.fromkeys(corpus.texts))
    assert corpus.list_files() == []
    assert list(corpus.data.glob("library.vectors.*")) == []
    with corpus.open() as connection:
        found = [read_meta(connection, f"vectors_{name}") for name in ("count", "width", "provider")]
    assert found == ["0", "0", ""]
    corpus.change({"plain": ["no vectors"]}, provider="")
    assert corpus.list_files() == []
    corpus.change({"a": ["lamp"]}, provider="hash:32")
    [file] = corpus.list_files()
    assert file.shape == (1, 32)
    assert len(corpus.read()[1]) == 1


# ---- files that are not as they were written


def alter(file: MatrixFile) -> None:
    path = Path(file.path)
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(5))
def test_altered_vectors_are_not_merged_or_copied(tmp_path: Path, at: int) -> None:
    corpus = make_corpus(tmp_path / "data", 40)
    with opened(corpus.data) as sink:
        for number in range(6):
            commit(sink, make_indexed(f"new{number}", f"lamp {number}"))
            sink.publish()
        alter(corpus.list_files()[1 + at])
        commit(sink, make_indexed("99", "horn"))
        sink.publish()  # merges all files but the first one
    corpus.texts |= {f"new{number}": [f"lamp {number}"] for number in range(6)} | {"99": ["horn"]}
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()


@pytest.mark.slow
def test_a_lost_file_is_written_again_together_with_a_change(corpus: Corpus, tmp_path: Path) -> None:
    corpus.change({"03": ["lamp"]})
    Path(corpus.list_files()[1].path).unlink()
    corpus.change({"04": ["horn"], "05": None})
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()
    assert len(corpus.list_files()) == 1
