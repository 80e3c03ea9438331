"""Content is sent to a server elsewhere only if the user agrees, who is asked once."""

import io
import sys
from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.extensions.consent import require_consent

pytestmark = pytest.mark.req("SIL-4")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "127.1.2.3:1", "[::1]:8000", "models.localhost"])
def test_a_server_on_this_machine_needs_no_consent(host: str) -> None:
    require_consent(f"http://{host}/v1#m", "pages", print, is_agreed=False)


@pytest.mark.parametrize("host", ["models.example", "10.0.0.7:8000", "localhost.example"])
def test_without_a_terminal_another_server_is_named_and_nothing_is_sent(host: str) -> None:
    with pytest.raises(OperatorError, match=rf"pages will be sent to http://{host}; add --set send=true"):
        require_consent(f"http://{host}/v1#m", "pages", print, is_agreed=False)


def test_an_agreement_holds_for_the_server_and_for_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    require_consent("https://models.example/v1#m", "pages", print, is_agreed=True)
    assert "pages will be sent to https://models.example" in capsys.readouterr().out
    require_consent("https://models.example/v2#other", "pages", print, is_agreed=False)
    with pytest.raises(OperatorError):
        require_consent("https://other.example/v1#m", "pages", print, is_agreed=False)


@pytest.mark.parametrize(
    ("said", "agrees"), [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_on_a_terminal_the_user_is_asked(said: str, agrees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    if agrees:
        require_consent("https://models.example/v1#m", "pages", print, is_agreed=False)
    else:
        with pytest.raises(OperatorError):
            require_consent("https://models.example/v1#m", "pages", print, is_agreed=False)
    assert "pages will be sent to https://models.example. Do you agree? [y/N]" in shown.getvalue()
