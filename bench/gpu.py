"""Vectors on a GPU: `sentence-transformers:NAME` beside `SentenceTransformer.encode`, on the same texts in one run.

    python bench/gpu.py [--model small large] [--part provider stage] [--rounds 3] [--scale 1.0] [--json]

Two encoders with random weights are made here, so nothing is downloaded: 384 wide with 6 layers, and 1536 wide with 22.
The texts are made up too; their lengths are spread as those of chunks are, from a few tokens to the 512 that fit.
Everything is timed end to end, tokenising included, after a warm-up, and the best round counts. `encode` runs with its
defaults, and in half precision with batches of 32 to 256, of which the best is taken. The cosine is the worst of all
texts, to what `encode` gives in single precision.

`stage` compares `inorder embed` on small documents of three chunks each, whose words can be searched already, to the
provider alone on the same chunks, in one call. The run ends when the vectors can be searched, too. Both run in a
process of their own for every round, as the command does. Loading the model counts for neither side: the time is that
from the moment at which the model is loaded to the end. The first batches, for which the GPU loads its code, count for
both.
"""

import argparse
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCHES = (32, 64, 128, 256)
WARM_TEXTS = 512
TOKENS_MAX = 512
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Size(NamedTuple):
    """An encoder, how many texts it gets, and what is aimed at: times the defaults, times the best settings."""

    width: int
    layers: int
    heads: int
    texts: int
    target_default: float
    target_best: float
    documents: int
    """Documents of the run, and the part of the provider's rate that is aimed at."""
    target_stage: float


SIZES = {
    "small": Size(384, 6, 12, 24_000, 5.0, 1.5, 6000, 0.7),
    "large": Size(1536, 22, 24, 3_000, 8.0, 1.5, 1000, 0.8),
}
PARTS = ("provider", "stage")
SECTIONS = 3
SECTION_WORDS = 150
CHUNK_TOKENS = 200
"""A section is a chunk."""


def words(count: int, dice: random.Random) -> list[str]:
    """Words that nobody knows, of the usual lengths."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
    found: set[str] = set()
    while len(found) < count:
        found.add("".join(dice.choices(syllables, k=dice.choice((1, 2, 2, 3, 3, 4)))))
    return sorted(found)


def make_tokenizer(known: list[str]) -> Any:
    """A WordPiece tokenizer that knows most of the words, and cuts the others into letters and pairs of them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pairs = [a + b for a in LETTERS for b in LETTERS]
    pieces = [*LETTERS, ".", *(f"##{piece}" for piece in (*LETTERS, *pairs))]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys([*SPECIAL, *pieces, *known]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def make_texts(count: int, vocabulary: list[str], dice: random.Random) -> list[str]:
    """Sentences of frequent and rare words; half of the texts are shorter than 150 words, a few longer than fits."""
    weights = [1.0 / (rank + 10) for rank in range(len(vocabulary))]
    drawn = iter(dice.choices(vocabulary, weights, k=count * 400))
    texts = []
    for _ in range(count):
        length = min(400, max(4, int(dice.lognormvariate(5.0, 0.7))))
        taken = [next(drawn) for _ in range(length)]
        texts.append(" ".join(f"{word}." if place % 14 == 13 else word for place, word in enumerate(taken)))
    return texts


def make_model(folder: Path, size: Size, tokenizer: Any) -> None:
    """Random weights and a tokenizer, as a folder that sentence-transformers loads."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(6)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=TOKENS_MAX,
    )
    with torch.device("cuda"):
        BertModel(config).save_pretrained(folder)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=TOKENS_MAX, **names)
    fast.save_pretrained(folder)


def best_of(rounds: int, task: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of the quickest round, and what the last one gave."""
    seconds, given = [], None
    for _ in range(rounds):
        began_s = time.perf_counter()
        given = task()
        seconds.append(time.perf_counter() - began_s)
    return min(seconds), given


def encode_times(folder: Path, texts: list[str], rounds: int) -> tuple[dict[str, float], Any]:
    """Seconds of `encode` by its settings, and the rows in single precision."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cuda")
    model.encode(texts[:WARM_TEXTS], show_progress_bar=False)
    default_s, rows = best_of(1, lambda: model.encode(texts, show_progress_bar=False, normalize_embeddings=True))
    seconds = {"defaults": default_s}
    model.half()
    for size in BATCHES:
        options: dict[str, Any] = {"batch_size": size, "show_progress_bar": False, "normalize_embeddings": True}
        model.encode(texts[:WARM_TEXTS], **options)
        seconds[f"half precision, batch {size}"] = best_of(rounds, lambda o=options: model.encode(texts, **o))[0]
    return seconds, rows


def our_time(folder: Path, texts: list[str], rounds: int) -> tuple[float, Any]:
    """Seconds of the provider, and its rows."""
    from inorder.documents.embed.providers.registry import open_dense

    provider = open_dense(f"sentence-transformers:{folder}")
    provider.embed(texts[:WARM_TEXTS])
    seconds, rows = best_of(rounds, lambda: provider.embed(texts))
    provider.close()
    return seconds, rows


def measure(name: str, rounds: int, scale: float) -> dict[str, Any]:
    """Both sides on one encoder."""
    size, dice = SIZES[name], random.Random(name)
    vocabulary = words(30_000, dice)
    tokenizer = make_tokenizer(vocabulary[::2] + vocabulary[1:15_000:2])
    texts = make_texts(int(size.texts * scale), vocabulary, dice)
    tokens = sum(min(len(one.ids), TOKENS_MAX) for one in tokenizer.encode_batch_fast(texts))
    with tempfile.TemporaryDirectory() as place:
        make_model(Path(place), size, tokenizer)
        theirs_s, exact = encode_times(Path(place), texts, rounds)
        ours_s, rows = our_time(Path(place), texts, rounds)
    best = min((seconds, setting) for setting, seconds in theirs_s.items() if setting != "defaults")
    return {
        "model": f"{size.width} wide, {size.layers} layers",
        "texts": len(texts),
        "tokens": tokens,
        "tokens_per_s": {setting: round(tokens / seconds) for setting, seconds in theirs_s.items()},
        "ours_tokens_per_s": round(tokens / ours_s),
        "best_setting": best[1],
        "times_default": round(theirs_s["defaults"] / ours_s, 2),
        "times_best": round(best[0] / ours_s, 2),
        "targets": [size.target_default, size.target_best],
        "cosine_min": float(np.sum(exact.astype(np.float64) * rows, axis=1).min()),
    }


def make_documents(folder: Path, count: int, vocabulary: list[str], dice: random.Random) -> None:
    """Documents of a few sections, each of which becomes a chunk."""
    folder.mkdir()
    for number in range(count):
        sections = [
            f"## {dice.choice(vocabulary)} {place}\n\n{' '.join(dice.choices(vocabulary, k=SECTION_WORDS))}.\n"
            for place in range(SECTIONS)
        ]
        (folder / f"{number:06}.md").write_text(f"# {dice.choice(vocabulary)}\n\n" + "\n".join(sections))


def prepare_chunks(sources: Path, data: Path) -> None:
    """Read, cut and index the documents."""
    options = ["--tokens-max", str(CHUNK_TOKENS), "--dense", "none", "--data", str(data), "--quiet"]
    command = [sys.executable, "-m", "inorder", "run", str(sources), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def embed(data: Path, spec: str) -> tuple[float, float]:
    """Run the pass of the model; the seconds until the model was loaded, and from then to the end."""
    from inorder import StageOptions
    from inorder.documents.chunk.settings import ChunkSettings
    from inorder.pipeline.run import RunRequest, run_pipeline
    from inorder.pipeline.steps import EMBED, PipelineSettings

    loaded_s = note_loading()
    settings = PipelineSettings(chunk=ChunkSettings(tokens_max=CHUNK_TOKENS), dense=spec, commands=(EMBED,))
    options = StageOptions(data=data, progress="none", policy="cpu")
    began_s = time.perf_counter()
    outcome = run_pipeline(RunRequest(settings=settings, options=options))
    if outcome.failed or not loaded_s:
        raise SystemExit(f"{outcome.failed} files failed: {outcome.errors}")
    return loaded_s[0] - began_s, time.perf_counter() - loaded_s[0]


def note_loading() -> list[float]:
    """A list that gets the time at which the model is loaded: the process of the providers greets a connection then."""
    from inorder.documents.embed.shared.process import ProviderKeeper

    loaded_s: list[float] = []
    open_process = ProviderKeeper.open

    def wait_for_greeting(address: str) -> None:
        with socket.socket(socket.AF_UNIX) as end:
            end.connect(address)
            if end.recv(1):
                loaded_s.append(time.perf_counter())

    def open_and_wait(keeper: ProviderKeeper, *arguments: Any) -> Any:
        process = open_process(keeper, *arguments)
        threading.Thread(target=wait_for_greeting, args=(process.address,), daemon=True).start()
        return process

    ProviderKeeper.open = open_and_wait  # type: ignore[method-assign]
    return loaded_s


def embed_alone(data: Path, spec: str) -> tuple[float, float]:
    """The provider alone, on all chunks in one call; the seconds until the model was loaded, and from then to the
    end."""
    import inorder
    from inorder.documents.embed.providers.registry import open_dense

    with inorder.open(data) as dataset:
        texts = [chunk.text for chunk in dataset.chunks()]
    began_s = time.perf_counter()
    provider = open_dense(spec)
    loaded_s = time.perf_counter()
    provider.embed(texts)
    ended_s = time.perf_counter()
    provider.close()
    return loaded_s - began_s, ended_s - loaded_s


TASKS = {"stage": embed, "alone": embed_alone}


def run_apart(task: str, data: Path, spec: str) -> tuple[float, float]:
    """Run one of the tasks in a process of its own."""
    command = [sys.executable, __file__, "--task", task, str(data), spec]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    start_s, rest_s = json.loads(done.stdout.splitlines()[-1])
    return float(start_s), float(rest_s)


def measure_stage(name: str, rounds: int, scale: float) -> dict[str, Any]:
    """The run of `embed`, and the provider alone."""
    import inorder

    size, dice = SIZES[name], random.Random(name)
    vocabulary = words(30_000, dice)
    tokenizer = make_tokenizer(vocabulary[::2] + vocabulary[1:15_000:2])
    with tempfile.TemporaryDirectory() as place:
        folder, sources = Path(place), Path(place, "sources")
        make_model(folder / "model", size, tokenizer)
        spec = f"sentence-transformers:{folder}/model"
        make_documents(sources, int(size.documents * scale), vocabulary, dice)
        prepare_chunks(sources, folder / "chunks")
        times, alone = [], []
        for number in range(rounds):
            shutil.copytree(folder / "chunks", folder / f"data-{number}")
            times.append(run_apart("stage", folder / f"data-{number}", spec))
            alone.append(run_apart("alone", folder / "chunks", spec)[1])
        with inorder.open(folder / "chunks") as dataset:
            texts = [chunk.text for chunk in dataset.chunks()]
    start_s, stage_s = min(times, key=lambda both: both[1])
    alone_s = min(alone)
    tokens = sum(min(len(one.ids), TOKENS_MAX) for one in tokenizer.encode_batch_fast(texts))
    return {
        "model": f"{size.width} wide, {size.layers} layers",
        "documents": int(size.documents * scale),
        "chunks": len(texts),
        "tokens": tokens,
        "start_s": round(start_s, 2),
        "stage_s": [round(seconds, 2) for _, seconds in times],
        "alone_s": [round(seconds, 2) for seconds in alone],
        "stage_tokens_per_s": round(tokens / stage_s),
        "provider_tokens_per_s": round(tokens / alone_s),
        "part_of_provider": round(alone_s / stage_s, 3),
        "target": size.target_stage,
    }


def show_stage(result: dict[str, Any]) -> None:
    """The stage beside the provider, in lines."""
    print(f"\n{result['model']}: {result['documents']:,} documents, {result['chunks']:,} chunks")
    print(f"  {'the provider alone':<36} {result['provider_tokens_per_s']:>12,} tokens/s")
    print(f"  {'inorder embed':<36} {result['stage_tokens_per_s']:>12,} tokens/s, ", end="")
    print(f"{result['part_of_provider']:.2f} of it (aim {result['target']:g}), after a start of {result['start_s']} s")


def show(result: dict[str, Any]) -> None:
    """One encoder, as a table."""
    print(f"\n{result['model']}: {result['texts']:,} texts, {result['tokens']:,} tokens")
    for setting, rate in result["tokens_per_s"].items():
        print(f"  encode, {setting:<28} {rate:>12,} tokens/s")
    print(f"  {'inorder':<36} {result['ours_tokens_per_s']:>12,} tokens/s")
    default, best = result["targets"]
    print(f"  {result['times_default']:.1f} times the defaults (aim {default:g}), ", end="")
    print(f"{result['times_best']:.2f} times {result['best_setting']} (aim {best:g}), ", end="")
    print(f"cosine at least {result['cosine_min']:.6f}")


def no_gpu() -> str | None:
    """Why nothing can be measured here."""
    try:
        import sentence_transformers  # noqa: F401
        import torch
    except ImportError as error:
        return f"the package {error.name} is not installed"
    return None if torch.cuda.is_available() else "there is no GPU that torch can use"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="times the usual number of texts")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--task", nargs=3, metavar=("TASK", "DATA", "SPEC"), help="run one task, and print its times")
    options = parser.parse_args()
    if options.task:
        name, data, spec = options.task
        print(json.dumps(TASKS[name](Path(data), spec)))
        return 0
    if reason := no_gpu():
        print(f"bench/gpu.py: nothing measured, {reason}")
        return 0
    results: dict[str, list[dict[str, Any]]] = {part: [] for part in options.part}
    for name in options.model:
        if "provider" in results:
            results["provider"].append(measure(name, options.rounds, options.scale))
        if "stage" in results:
            results["stage"].append(measure_stage(name, options.rounds, options.scale))
    if options.json:
        print(json.dumps(results))
        return 0
    for result in results.get("provider", []):
        show(result)
    for result in results.get("stage", []):
        show_stage(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
