"""A program that asks a model and is killed again and again: the accounts of the server and of the file agree."""

import subprocess
import sys
from pathlib import Path

import pytest

from inorder.models.answers import find_kept
from inorder.models.question import Question
from inorder.testing import ModelServer

IN_FLIGHT = 20
QUESTIONS = 200
PROGRAM = """
import itertools, sys, threading
from inorder.models.answers import AnswerStore
from inorder.models.client import ModelClient
from inorder.models.limits import ServerLimits
from inorder.models.question import ModelInput, Question

path, url, count, in_flight = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
numbers = itertools.count()
with AnswerStore(path) as store:
    limits = ServerLimits(in_flight=in_flight, backoff_s=0.001, attempts_max=30)
    client = ModelClient(f"{url}#m", store, limits=limits)

    def work():
        while (number := next(numbers)) < count:
            question = Question(model=client.model, prompt="Read it.", input_key=f"f#{number}")
            client.ask(question, lambda: ModelInput(text=f"page {number}"))

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.req("MOD-2")
def test_a_kill_repeats_at_most_the_requests_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    path = str(tmp_path / "answers.sqlite")
    with ModelServer(fault_rate=0.1, latency_s=0.005, retry_after_s=0) as server:
        arguments = [sys.executable, "-c", PROGRAM, path, server.url, str(QUESTIONS), str(IN_FLIGHT)]
        kills = 0
        for answered in (1, 40, 41, 90, 150):
            program = subprocess.Popen(arguments)
            while server.answered.total() < answered and program.poll() is None:
                program.poll()
            program.kill()
            program.wait()
            kills += 1
        assert subprocess.run(arguments, check=False).returncode == 0
        paid, paid_before_rerun = server.answered, server.asked.total()
        assert subprocess.run(arguments, check=False).returncode == 0
        assert server.asked.total() == paid_before_rerun, "a rerun asks nothing"
    keys = [
        Question(model=f"{server.url}#m", prompt="Read it.", input_key=f"f#{number}").key for number in range(QUESTIONS)
    ]
    assert len(find_kept(path, keys)) == len(paid) == QUESTIONS
    assert paid.total() - QUESTIONS <= kills * IN_FLIGHT
