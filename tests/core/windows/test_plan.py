"""What may enter, and how a bad plan is refused."""

import math

import pytest

from inorder.core.windows.plan import PlanIntake, PlanItem
from inorder.errors import OperatorError
from tests.core.driver import Driver


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (PlanItem(cost=-0.5), "plan item 1 has cost -0.5; a cost must be a finite number of at least 0"),
        (PlanItem("b", cost=math.nan), "plan item 1 ('b') has cost nan; a cost must be a finite number of at least 0"),
        (PlanItem(cost=math.inf), "plan item 1 has cost inf; a cost must be a finite number of at least 0"),
        (PlanItem("b", size_bytes=-1), "plan item 1 ('b') has size -1; a size must be at least 0 bytes"),
        (PlanItem("b", input_bytes=-2), "plan item 1 ('b') has size -2; a size must be at least 0 bytes"),
        (PlanItem("a"), "plan item 1 ('a') repeats an earlier id; ids must be unique in a plan"),
    ],
)
def test_a_bad_item_is_refused_by_place_and_name(item: PlanItem, complaint: str) -> None:
    driver = Driver()
    with pytest.raises(OperatorError) as caught:
        driver.plan([PlanItem("a"), item, PlanItem("c")])
    assert str(caught.value) == complaint


def test_the_place_of_a_bad_item_counts_from_the_start_of_the_plan() -> None:
    driver = Driver()
    driver.plan([PlanItem("a")])
    with pytest.raises(OperatorError, match=r"plan item 1 \('a'\) repeats"):
        driver.plan([PlanItem("a")])


def test_a_plan_that_ends_early_is_refused() -> None:
    driver = Driver(total=3)
    with pytest.raises(OperatorError, match="announced 3 items but ended after 2"):
        driver.plan(2, ended=True)


def test_a_plan_that_yields_more_than_it_announced_is_refused() -> None:
    driver = Driver(total=2)
    with pytest.raises(OperatorError, match=r"announced 2 items but has more: plan item 2 \('c'\)"):
        driver.plan([PlanItem("a"), PlanItem("b"), PlanItem("c")])


def test_a_plan_cannot_announce_fewer_than_no_items() -> None:
    with pytest.raises(OperatorError, match="a plan cannot announce -1 items"):
        Driver(total=-1)


def test_a_plan_that_announces_nothing_may_have_any_length() -> None:
    intake = PlanIntake(None)
    intake.admit([PlanItem()] * 3)
    intake.end()
    assert (intake.admitted, intake.is_ended) == (3, True)


def test_items_without_an_id_and_free_items_are_welcome() -> None:
    intake = PlanIntake(3)
    intake.admit([PlanItem(), PlanItem(cost=0.0), PlanItem(size_bytes=0)])
    intake.end()
    assert intake.admitted == 3


def test_an_id_made_from_an_undecodable_file_name_is_planned() -> None:
    driver = Driver(total=1)
    driver.plan([PlanItem("report-\udce9.pdf")], ended=True)
    assert driver.pull() == [0]
