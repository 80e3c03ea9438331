"""The vectors of a question come soon, or the question ends with the reason."""

import threading

import numpy as np
import pytest

from inorder.errors import InfrastructureError
from inorder.index.ranking.question_provider import SERVER_LIMITS, QuestionServer, open_question_provider
from inorder.models.limits import ServerLimits
from inorder.serve.options import ANSWER_S_MAX
from tests.documents.embed.servers import GUARD_S, Handler, Script, serving, true_rows

pytestmark = pytest.mark.req("RTY-5")


def test_a_server_that_sends_byte_by_byte_is_given_up_after_the_limit() -> None:
    """As long as bytes arrive, no read of the connection times out."""
    gate = threading.Event()

    def drip(handler: Handler, texts: list[str]) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n":
            if gate.wait(0.01):
                return
            handler.wfile.write(bytes([byte]))
        gate.wait(GUARD_S)

    with serving(Script(otherwise=drip)) as address:
        provider = QuestionServer(f"tei:{address}", ServerLimits(deadline_s=0.1, check_s=0.1))
        try:
            with pytest.raises(InfrastructureError, match=r"no vectors for the question: not completed within 0\.1 s"):
                provider.embed(["lamp"])
        finally:
            gate.set()


def test_a_page_of_serve_names_the_server_before_its_own_time_is_over() -> None:
    assert SERVER_LIMITS.deadline_s + SERVER_LIMITS.check_s < ANSWER_S_MAX


def test_a_good_server_answers() -> None:
    with serving(Script()) as address:
        found = open_question_provider(f"tei:{address}").embed(["lamp"])
    np.testing.assert_allclose(found, true_rows(["lamp"]), atol=1e-6)
