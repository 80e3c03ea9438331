"""The configuration of a lane: frozen, and errors name the option."""

import math
from typing import Any

import pytest

from inorder.errors import OperatorError
from inorder.lanes import Lane, LaneConfig

REDIRECT = {"strategy": "redirect", "redirect_to": "other"}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"max_concurrency": 10_001}, "max_concurrency"),
        ({"max_concurrency": 1.5}, "max_concurrency"),
        ({"max_concurrency": True}, "max_concurrency"),
        ({"max_concurrency": "4"}, "max_concurrency"),
        ({"min_concurrency": 0}, "min_concurrency"),
        ({"max_concurrency": 2, "min_concurrency": 3}, "min_concurrency"),
        ({"capacity": -1}, "capacity"),
        ({"capacity": 2**30 + 1}, "capacity"),
        ({"waiting_max": -1}, "waiting_max"),
        ({"strategy": "panic"}, "strategy"),
        ({"strategy": "redirect"}, "redirect_to"),
        ({"strategy": "redirect", "redirect_to": ""}, "redirect_to"),
        ({"strategy": "redirect", "redirect_to": "lane"}, "redirect_to"),
        ({"strategy": "drop", "redirect_to": "other"}, "redirect_to"),
        ({"rate_per_s": 0}, "rate_per_s"),
        ({"rate_per_s": -1.0}, "rate_per_s"),
        ({"rate_per_s": math.nan}, "rate_per_s"),
        ({"rate_per_s": math.inf}, "rate_per_s"),
        ({"rate_per_s": 1.0, "burst": 0}, "burst"),
        ({"rate_per_s": 1.0, "burst": 1.5}, "burst"),
        ({"burst": 5}, "burst"),
        ({"when_limited": "reject"}, "when_limited"),
        ({"rate_per_s": 1.0, "when_limited": "sulk"}, "when_limited"),
        ({"scale_up_after_s": -0.1}, "scale_up_after_s"),
        ({"scale_down_after_s": math.inf}, "scale_down_after_s"),
    ],
)
def test_a_bad_option_is_refused_by_name(options: dict[str, Any], option: str) -> None:
    with pytest.raises(OperatorError, match=rf"\boption {option}\b"):
        LaneConfig(**{"name": "lane", **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_concurrency": 1, "min_concurrency": 1, "capacity": 0, "waiting_max": 0},
        REDIRECT,
        {"rate_per_s": 1e-6, "burst": 2**30, "when_limited": "reject"},
        {"scale_up_after_s": 0, "scale_down_after_s": 86_400},
    ],
)
def test_options_at_their_bounds_are_taken(options: dict[str, Any]) -> None:
    assert LaneConfig(**{"name": "lane", **options}).name == "lane"


def test_a_configuration_is_a_value_that_cannot_be_changed() -> None:
    config = LaneConfig(name="lane")
    assert config == LaneConfig(name="lane")
    assert config != LaneConfig(name="other")
    with pytest.raises(AttributeError):
        config.capacity = 1  # type: ignore[misc]


@pytest.mark.req("LAN-1")
def test_the_concurrency_is_fixed_unless_a_lower_bound_is_given() -> None:
    assert not LaneConfig(name="lane").is_dynamic
    assert not LaneConfig(name="lane", max_concurrency=3, min_concurrency=3).is_dynamic
    assert LaneConfig(name="lane", max_concurrency=3, min_concurrency=2).is_dynamic


@pytest.mark.req("LAN-4")
def test_a_lane_that_redirects_must_be_able_to_find_its_target() -> None:
    with pytest.raises(OperatorError, match="pass find="):
        Lane(LaneConfig(name="lane", **REDIRECT))
