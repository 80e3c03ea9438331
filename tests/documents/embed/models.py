"""Small models made on the spot: an ONNX folder, and folders that sentence-transformers loads."""

from pathlib import Path
from typing import Any

import numpy as np

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
WORDS = [*"abcdefghijklmnopqrstuvwxyz0123456789.,", "text", "one", "two", "word", "number", "the", "and"]
VOCABULARY = {token: number for number, token in enumerate([*SPECIAL, *WORDS, *(f"##{word}" for word in WORDS)])}
WIDTH = 16
TOKENS_MAX = 64


def tokenizer() -> Any:
    """WordPiece over letters and a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def table() -> np.ndarray[Any, Any]:
    """A vector for every token; what the ONNX model below gives for it."""
    return np.random.default_rng(5).standard_normal((len(VOCABULARY), WIDTH)).astype(np.float32)


def onnx_folder(folder: Path, *, pooled: bool = False, operator: str = "Identity", wants: str = "input_ids") -> Path:
    """A model that looks every token up, and leaves the mean to others unless it is `pooled`."""
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [helper.make_node("Gather", ["table", wants], ["found"])]
    shape: list[str | int] = ["texts", "tokens", WIDTH]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["found"], ["sentence_embedding"], axes=[1], keepdims=0))
        shape.remove("tokens")
    elif operator == "DynamicQuantizeLinear":
        quantised = ["eight", "scale", "zero"]
        nodes.append(helper.make_node(operator, ["found"], quantised))
        nodes.append(helper.make_node("DequantizeLinear", quantised, ["last_hidden_state"]))
    else:
        nodes.append(helper.make_node(operator, ["found"], ["last_hidden_state"]))
    output = "sentence_embedding" if pooled else "last_hidden_state"
    graph = helper.make_graph(
        nodes,
        "lookup",
        [helper.make_tensor_value_info(wants, TensorProto.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table(), "table")],
    )
    folder.mkdir(parents=True, exist_ok=True)
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(folder / "model.onnx")
    )
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def bert_folder(folder: Path, kind: str = "bert", **options: Any) -> Path:
    """A tiny encoder with random weights: `bert`, `roberta`, `distilbert`, or `bert-words`, which weighs words."""
    import torch
    import transformers

    torch.manual_seed(7)
    shape = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    shape |= {"vocab_size": len(VOCABULARY), "max_position_embeddings": TOKENS_MAX + 2, "initializer_range": 0.5}
    if kind == "distilbert":
        small = {"dim": WIDTH, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
        config = transformers.DistilBertConfig(**small, vocab_size=len(VOCABULARY), initializer_range=0.5)
        transformers.DistilBertModel(config).save_pretrained(folder)
    elif kind == "roberta":
        config = transformers.RobertaConfig(**shape, type_vocab_size=1, pad_token_id=0, **options)
        transformers.RobertaModel(config).save_pretrained(folder)
    else:
        model = transformers.BertForMaskedLM if kind == "bert-words" else transformers.BertModel
        model(transformers.BertConfig(**shape, **options)).save_pretrained(folder)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(), model_max_length=TOKENS_MAX, **dict(zip(NAMES, SPECIAL, strict=True))
    )
    fast.save_pretrained(folder)
    return folder
