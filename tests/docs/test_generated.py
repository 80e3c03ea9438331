"""What `make docs` writes is up to date, and does not depend on the machine that wrote it."""

import pytest

from tools.docs import GENERATED, ROOT


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_up_to_date(name: str) -> None:
    path = ROOT / name
    if not path.exists() or path.read_text(encoding="utf-8") != GENERATED[name]():
        pytest.fail(f"{name} is stale; run `make docs`", pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GENERATED if name.endswith(".md")])
def test_the_terminal_and_the_environment_leave_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = GENERATED[name]()
    for variable, value in (("COLUMNS", "40"), ("FORCE_COLOR", "1"), ("INORDER_WORKERS", "3"), ("HOME", "/elsewhere")):
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("os.cpu_count", lambda: 777)
    assert GENERATED[name]() == before


def test_the_command_line_reference_has_every_command() -> None:
    text = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    for command in ("run", "stage", "search", "failures", "verify", "config show"):
        assert f"\n## inorder {command}\n" in text


def test_the_api_reference_has_every_public_name() -> None:
    import inorder

    text = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    names = [name for name in inorder.__all__ if not name.startswith("__")]
    assert [name for name in names if f"`{name}`" not in text] == []
