"""A source gets a name once, and an argument is compared with the sources that are known."""

from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.pipeline.sources.names import KnownSource, SourcePart, resolve_sources

pytestmark = pytest.mark.req("PIP-4")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for name in ("a/docs/inner", "b/docs", "c/docs"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def know(name: str, path: Path | str) -> KnownSource:
    return KnownSource(name, str(path))


def test_a_new_source_gets_its_base_name(places: Path) -> None:
    [part] = resolve_sources([places / "a/docs"], [])
    assert part == SourcePart("docs", str(places / "a/docs"))


def test_a_name_that_is_taken_gets_a_number(places: Path) -> None:
    known = [know("docs", places / "a/docs")]
    parts = resolve_sources([places / "b/docs", places / "c/docs"], known)
    assert [part.name for part in parts] == ["docs~2", "docs~3"]


def test_a_known_source_keeps_its_name_whatever_comes_with_it(places: Path) -> None:
    known = [know("docs", places / "a/docs"), know("docs~2", places / "b/docs")]
    parts = resolve_sources([places / "b/docs"], known)
    assert [part.name for part in parts] == ["docs~2"]


def test_two_spellings_of_one_folder_are_one_source(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places)
    (places / "link").symlink_to(places / "a/docs")
    parts = resolve_sources(["a/docs", "b/../a/docs/", places / "link"], [])
    assert [part.name for part in parts] == ["docs"]


def test_two_spellings_of_one_address_are_one_source() -> None:
    parts = resolve_sources(["s3://bucket/docs", "S3://bucket/docs/"], [])
    assert [(part.name, part.location) for part in parts] == [("docs", "s3://bucket/docs")]


def test_a_folder_inside_a_known_source_is_a_part_of_it(places: Path) -> None:
    known = [know("docs", places / "a/docs")]
    [part] = resolve_sources([places / "a/docs/inner"], known)
    assert (part.name, part.location, part.below) == ("docs", str(places / "a/docs"), "inner")
    assert part.prefix == "docs/inner"


def test_a_part_of_a_source_that_is_given_as_a_whole_is_not_walked_twice(places: Path) -> None:
    parts = resolve_sources([places / "a/docs", places / "a/docs/inner"], [])
    assert [(part.name, part.below) for part in parts] == [("docs", "")]


def test_a_folder_that_contains_a_known_source_leaves_that_part_to_it(places: Path) -> None:
    known = [know("inner", places / "a/docs/inner")]
    [part] = resolve_sources([places / "a"], known)
    assert part.name == "a"
    assert part.excluded == (str(places / "a/docs/inner"),)


def test_a_source_whose_folder_is_gone_is_recognised_elsewhere(places: Path) -> None:
    known = [know("docs", places / "gone/docs")]
    [part] = resolve_sources([places / "b/docs"], known)
    assert (part.name, part.location) == ("docs", str(places / "b/docs"))
    assert part.moved_from == str(places / "gone/docs")


def test_of_two_sources_that_are_gone_none_is_guessed(places: Path) -> None:
    known = [know("docs", places / "gone/docs"), know("docs~2", places / "away/docs")]
    [part] = resolve_sources([places / "b/docs"], known)
    assert (part.name, part.moved_from) == ("docs~3", "")


def test_a_source_that_is_still_there_has_not_moved(places: Path) -> None:
    known = [know("docs", places / "a/docs")]
    [part] = resolve_sources([places / "b/docs"], known)
    assert (part.name, part.moved_from) == ("docs~2", "")


def test_a_user_can_name_a_new_source(places: Path) -> None:
    [part] = resolve_sources([places / "b/docs"], [], name="manuals")
    assert part.name == "manuals"


@pytest.mark.parametrize("name", ["", "a/b", "..", "docs"])
def test_a_name_that_is_taken_or_no_name_is_refused(places: Path, name: str) -> None:
    with pytest.raises(OperatorError):
        resolve_sources([places / "b/docs"], [know("docs", places / "a/docs")], name=name)


def test_a_known_source_cannot_be_named_again(places: Path) -> None:
    with pytest.raises(OperatorError, match="keeps its name"):
        resolve_sources([places / "a/docs"], [know("docs", places / "a/docs")], name="other")


def test_a_path_that_does_not_exist_is_an_error(places: Path) -> None:
    with pytest.raises(OperatorError, match="no such file or directory"):
        resolve_sources([places / "nowhere"], [])
