"""A real server with the chat protocol, and a tiny model of random weights: `make test-model-servers` installs both."""

import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.errors import StageError
from inorder.models.answers import AnswerStore
from inorder.models.client import ModelClient, require_access
from inorder.models.limits import ServerLimits
from inorder.models.question import ModelInput, Question
from inorder.models.validation import check_text

pytest.importorskip("fastapi", reason="make test-model-servers installs it")
pytest.importorskip("transformers", reason="make test-model-servers installs it")
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.req("MOD-1", "MOD-2")]

START_S = 300.0
MODEL = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(["<s>", "</s>", *alphabet])}, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
fast.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\\n{% endfor %}assistant:"
fast.save_pretrained(sys.argv[1])
sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
tokens = dict(vocab_size=len(fast), bos_token_id=0, eos_token_id=1, pad_token_id=1, max_position_embeddings=1024)
LlamaForCausalLM(LlamaConfig(**sizes, **tokens)).save_pretrained(sys.argv[1])
"""


class Served(NamedTuple):
    url: str
    model: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("model")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "no_proxy": "127.0.0.1"}
    (folder / "home" / "hub").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", MODEL, str(folder)], env=environment, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(folder), "--host", "127.0.0.1"]
    with (
        pytest.MonkeyPatch.context() as patch,
        subprocess.Popen([*command, "--port", str(port)], env=environment, stderr=subprocess.PIPE, text=True) as server,
    ):
        patch.setenv("no_proxy", "127.0.0.1")
        assert server.stderr is not None
        for line in server.stderr:  # what it says while it starts
            if "running on" in line:
                break
        url = f"http://127.0.0.1:{port}"
        assert json.load(urllib.request.urlopen(f"{url}/health", timeout=START_S)) == {"status": "ok"}
        yield Served(f"{url}/v1", str(folder))
        server.kill()


def open_client(served: Served, store: AnswerStore) -> ModelClient:
    return ModelClient(f"{served.url}#{served.model}", store, limits=ServerLimits(in_flight=2, deadline_s=120.0))


def ask(client: ModelClient, number: int, tokens: int = 16) -> Question:
    parameters = {"output_tokens_max": tokens, "temperature": 0.0}
    return Question(model=client.model, prompt="Read it.", parameters=parameters, input_key=f"f#{number}")


def test_a_real_server_is_asked_once_and_its_tokens_are_counted(served: Served, tmp_path: Path) -> None:
    with AnswerStore(str(tmp_path / "a")) as store:
        client = open_client(served, store)
        require_access(client.model)
        first = client.ask(ask(client, 1), lambda: ModelInput(text="The keeper lights the lamp."))
        again = client.ask(ask(client, 1), lambda: ModelInput(text="never sent"))
        client.close()
        assert again == first
        assert (first.tokens_out, first.finish_reason) == (16, "length")
        assert first.tokens_in > len("Read it.\n\nThe keeper lights the lamp.")
        assert client.statistics().requests == 1


def test_an_answer_that_a_real_server_cuts_off_is_asked_for_with_more_room(served: Served, tmp_path: Path) -> None:
    with AnswerStore(str(tmp_path / "a")) as store:
        client = open_client(served, store)
        with pytest.raises(StageError, match=r"not accepted: it is cut off after 32 tokens \(3 answers\)"):
            client.ask(ask(client, 2, tokens=8), lambda: ModelInput(text="The lamp."), check_text)
        client.close()


def test_a_real_server_that_is_gone_is_an_outage(served: Served, tmp_path: Path) -> None:
    with socket.socket() as free, AnswerStore(str(tmp_path / "a")) as store:
        free.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        client = ModelClient(f"{gone}#m", store, limits=ServerLimits(attempts_max=2, backoff_s=0.01))
        with pytest.raises(StageError, match="cannot reach") as caught:
            client.ask(ask(client, 3), lambda: ModelInput(text="The lamp."))
        client.close()
    assert caught.value.outage == gone
