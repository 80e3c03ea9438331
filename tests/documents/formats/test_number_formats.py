"""Numbers of workbooks as a reader expects them."""

import pytest

from inorder.documents.readers.office.number_formats import NumberFormats, format_number

pytestmark = pytest.mark.req("DOC-1")

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def read_kind(code: str, number: int = 164) -> str:
    formats = NumberFormats()
    if number >= 164:
        formats.start(f"{SHEET} numFmt", {"numFmtId": str(number), "formatCode": code})
    formats.start(f"{SHEET} cellXfs", {})
    formats.start(f"{SHEET} xf", {"numFmtId": str(number)})
    return formats.kind_of("0")


@pytest.mark.parametrize("code", ["[h]:mm", "[hh]:mm:ss", "[mm]:ss", "[s]", "[H]:MM"])
def test_formats_of_elapsed_time_are_durations(code: str) -> None:
    assert read_kind(code) == "duration"
    assert read_kind("", 46) == "duration"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("h:mm", "date"),
        ("dd.mm.yyyy", "date"),
        ("[Red]0.0", "number"),
        ("[magenta]0", "number"),
        ("0%", "percent"),
        ('0 "[h]"', "number"),
    ],
)
def test_other_formats_are_none(code: str, kind: str) -> None:
    assert read_kind(code) == kind


@pytest.mark.parametrize(
    ("days", "shown"),
    [("1.5", "36:00"), ("0.3541666667", "08:30"), ("-0.25", "-06:00"), ("100.0001", "2400:00:09"), ("0", "00:00")],
)
def test_a_duration_is_hours_and_minutes(days: str, shown: str) -> None:
    assert format_number(days, "duration") == shown


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("days", ["1e300", "-1e300", "nan", "inf", "", "x"])
def test_a_duration_that_cannot_be_is_shown_as_it_is(days: str) -> None:
    assert format_number(days, "duration") or not days
