"""`kill -9`, again and again, in the middle of a stage: nothing lost, nothing repeated, every byte the same."""

import os

import pytest

from tests.stage.jobs import Place
from tests.stage.lives import Lives, portable

pytestmark = pytest.mark.process

ITEMS = 2000


def names(count: int) -> list[str]:
    return [f"item-{number:04}" for number in range(count)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("undisturbed"))
    _, outcome = Lives(place).live(names(ITEMS), "")
    assert outcome is not None
    assert outcome["succeeded"] == ITEMS
    return place


@pytest.mark.req("JRN-3", "JRN-7", "RUN-7")
def test_a_stage_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    place: Place, undisturbed: Place
) -> None:
    lives = Lives(place)
    plan = names(ITEMS)
    for death in ("committed:60", "published:333", "appended:3", "planned:1500", "committed:500", "published:1"):
        before = set(lives.committed)
        called, _ = lives.live(plan, death)
        assert before.isdisjoint(called), f"a committed item ran again before {death}"
        assert len(called) == len(set(called))
        assert lives.committed == sorted(set(lives.committed))
    before = set(lives.committed)
    called, outcome = lives.live(plan, "")
    assert 500 < len(before) < ITEMS
    assert before.isdisjoint(called)
    assert outcome is not None
    assert (outcome["succeeded"], outcome["scheduled"]) == (ITEMS, ITEMS)
    assert outcome["resumed_at"] >= len(before)
    assert [row["seq"] for row in place.runs()[0][1:]] == list(range(ITEMS))
    assert len(place.runs()) == 1
    assert portable(place) == portable(undisturbed)
    assert place.published() == undisturbed.published()
    assert place.staged() == []


@pytest.mark.parametrize("death", ["published:31", "appended:2", "committed:9"])
@pytest.mark.req("JRN-3")
def test_a_plan_that_changed_after_a_kill_is_begun_anew_and_what_is_published_is_skipped(
    place: Place, death: str
) -> None:
    lives = Lives(place)
    plan = names(200)
    lives.live(plan, death, "io")
    committed = list(lives.committed)
    published = {os.path.basename(path)[:9] for path in place.published() if path.endswith(".fp.json")}
    assert set(committed) <= published
    (place.folder / "committed").unlink(missing_ok=True)
    changed = ["item-9999", *(f"{name}@2" if name == "item-0001" else name for name in plan)]
    called, outcome = lives.live(changed, "", "io")
    assert outcome is not None
    assert (outcome["resumed_at"], outcome["scheduled"]) == (None, 201)
    skipped = [name for name, status in place.statuses().items() if status == "skip"]
    assert set(committed) - {"item-0001"} <= set(skipped) <= published
    assert [name for name in plan if name in {*skipped, "item-0001"}] == plan[
        : len(skipped) + ("item-0001" in published)
    ]
    assert called == sorted(set(place.rows()) - set(skipped))
    assert [row["seq"] for row in place.rows().values()] == list(range(201))
    assert len(place.published()) == 402


@pytest.mark.req("JRN-3")
def test_files_that_were_about_to_be_published_are_taken_back_by_a_run_that_does_not_go_on(place: Place) -> None:
    """They are there, whole, with fingerprints; but nobody has said that they are committed."""
    lives = Lives(place)
    plan = names(40)
    lives.live(plan, "appended:1", "io")
    in_doubt = [path for path in place.published() if path.endswith(".fp.json")]
    assert lives.committed == []
    assert in_doubt
    called, outcome = lives.live([f"{name}@2" for name in plan], "", "io")
    assert outcome is not None
    assert (outcome["resumed_at"], outcome["succeeded"]) == (None, 40)
    assert called == plan
    again, outcome = lives.live(plan, "", "io")
    assert again == plan
