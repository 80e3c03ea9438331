"""The gather window: changes that come together are one run, and none waits for ever."""

from inorder.watch.changes import HINTS_MAX, PATHS_MAX, GatherWindow, SourceChanges


def test_nothing_is_due_before_the_first_change() -> None:
    assert GatherWindow(500, 10_000).due_ms is None


def test_a_change_is_due_when_no_other_came_for_the_settle_time() -> None:
    window = GatherWindow(500, 10_000)
    window.add(1_000, SourceChanges(1, ("a",)))
    assert window.due_ms == 1_500
    window.add(1_400, SourceChanges(2, ("b", "c")))
    assert window.due_ms == 1_900
    assert window.take() == SourceChanges(3, ("a", "b", "c"))
    assert (window.due_ms, window.changes) == (None, SourceChanges())


def test_a_stream_of_changes_is_due_at_the_upper_bound() -> None:
    window = GatherWindow(500, 2_000)
    for now_ms in range(0, 10_000, 100):
        window.add(now_ms, SourceChanges(1))
    assert window.due_ms == 2_000


def test_a_new_window_begins_after_the_changes_are_taken() -> None:
    window = GatherWindow(500, 2_000)
    window.add(0, SourceChanges(1))
    window.take()
    window.add(10_000, SourceChanges(1))
    assert window.due_ms == 10_500


def test_of_many_changes_only_the_first_paths_are_kept() -> None:
    window = GatherWindow(500, 2_000)
    for number in range(10_000):
        window.add(number % 100, SourceChanges(1, (str(number),)))
    assert window.changes == SourceChanges(10_000, tuple(map(str, range(PATHS_MAX))))


def test_all_paths_are_kept_for_the_run_unless_they_are_many_or_unknown() -> None:
    some = SourceChanges(1, ("a",), frozenset("a"))
    assert some.add(SourceChanges(1, ("b",), frozenset("b"))).hints == frozenset("ab")
    assert SourceChanges().add(some) == some.add(SourceChanges()) == some
    assert some.add(SourceChanges(1, ("b",))).hints is None
    many = SourceChanges(HINTS_MAX, (), frozenset(map(str, range(HINTS_MAX))))
    assert some.add(many).hints is None
