"""Generated documents whose content is known, read and scored; and the scores themselves."""

import pytest

from bench.reading.documents import Made
from bench.reading.kinds import KINDS, watermarks
from bench.reading.scores import (
    Content,
    GridCell,
    absent_share,
    count_relations,
    heading_score,
    similarity,
    table_score,
    text_score,
)
from bench.reading.tools import parse_markdown, read_content

pytestmark = pytest.mark.req("DOC-1")


def make_content(text: str = "", headings: list[tuple[int, str]] | None = None) -> Content:
    return Content(text, headings or [], [], [], [])


def test_similarity_counts_what_is_common_in_order() -> None:
    assert similarity("lamp oil", "lamp oil") == 1
    assert similarity("", "") == 1
    assert similarity("abcd", "") == 0
    assert similarity("abcd", "cdab") == 0.5


def test_a_heading_at_another_level_scores_less_than_the_same_tree_with_other_numbers() -> None:
    given = make_content(headings=[(0, "Lamps"), (1, "Oil"), (2, "Wicks"), (1, "Glass")])
    shifted = make_content(headings=[(1, "Lamps"), (2, "Oil"), (4, "Wicks"), (2, "Glass")])
    flat = make_content(headings=[(1, "Lamps"), (1, "Oil"), (1, "Wicks"), (1, "Glass")])
    assert heading_score(shifted, given) == 1
    assert (heading_score(flat, given) or 0) < 1
    assert heading_score(make_content(), given) == 0


def test_a_table_is_scored_by_its_cells_and_by_their_neighbours() -> None:
    grid = [GridCell(text, row, column) for row, texts in enumerate(("ab", "cd")) for column, text in enumerate(texts)]
    turned = [GridCell(cell.text, cell.column, cell.row) for cell in grid]
    given, found = make_content()._replace(tables=[grid]), make_content()._replace(tables=[turned])
    assert table_score(given, given) == 1
    assert count_relations(given, given) == (4, 4, 4)
    assert count_relations(found, given) == (4, 4, 0)
    assert table_score(make_content(), given) == 0


def test_markdown_is_read_into_the_same_form() -> None:
    text = "# Lamps\n\nSome **oil**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n"
    found = parse_markdown(text)
    assert found.headings == [(1, "Lamps")]
    assert [cell.text for cell in found.tables[0]] == ["a", "b", "1", "2"]
    assert found.code == ["x = 1"]
    assert found.text == "Lamps Some oil. a b 1 2 x = 1"


@pytest.fixture(scope="module", params=KINDS, ids=[kind.__name__ for kind in KINDS])
def made(request: pytest.FixtureRequest) -> Made:
    document: Made = request.param(1)
    return document


@pytest.mark.slow
def test_nearly_all_text_of_a_generated_document_arrives_once_and_in_order(made: Made) -> None:
    least = 0.98 if made.content.furniture else 0.99
    assert text_score(read_content(made.data), made.content) >= least


@pytest.mark.parametrize("seed", [0, 1])
def test_a_word_across_the_page_and_a_stamp_in_the_margin_are_furniture(seed: int) -> None:
    made = watermarks(seed)
    assert absent_share(read_content(made.data), made.content) == 1
