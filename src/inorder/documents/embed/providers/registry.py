"""Open an embedding provider by its specification.

    static                          word vectors that are part of the package
    hash, hash:DIMENSIONS           no model
    wordllama                       word vectors from an installed package
    minilm                          all-MiniLM-L6-v2, from an installed package
    onnx:DIR                        model.onnx and tokenizer.json in a folder
    sentence-transformers:NAME      a folder, or a name on the model hub
    tei:URL, openai:URL#MODEL       a server
    splade:NAME                     sparse: a folder, or a name on the model hub
    NAME, NAME:DETAIL               a plug-in of an installed package
    module:name, module:name:DETAIL a plug-in

`identity` and `policy` are cheap: they load no model and call no server. Packages of extras are imported when a
provider is opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from inorder.errors import OperatorError
from inorder.extensions.registry import Plugin, Registry
from inorder.host.credentials import hide_credentials, redact
from inorder.models.limits import ServerLimits

from . import versions
from .fingerprint import hash_folder, list_package_versions, model_identity

if TYPE_CHECKING:
    from .base import DenseProvider, SparseProvider

Policy = Literal["cpu", "gpu", "io"]

_DENSE = (
    "static, hash, hash:DIMENSIONS, wordllama, minilm, onnx:DIR, sentence-transformers:NAME, tei:URL "
    "or openai:URL#MODEL"
)
_SPARSE = "splade:NAME"
_PLUGIN = "the name of a plug-in (see `inorder plugins`) or module:name"


class ProviderRow(NamedTuple):
    """A provider that is built in."""

    family: str
    policy: Policy
    opener: tuple[str, str]
    """Module and function. What follows the colon in a specification is its argument."""
    detail: Literal["none", "may", "must"] = "must"
    """Whether something follows the colon."""


PROVIDERS = {
    "static": ProviderRow("dense", "cpu", ("static.provider", "PieceProvider"), "none"),
    "hash": ProviderRow("dense", "cpu", ("hashing", "HashProvider"), "may"),
    "wordllama": ProviderRow("dense", "cpu", ("static.wordllama", "open_wordllama"), "none"),
    # One model in one process; the threads share its batches.
    "minilm": ProviderRow("dense", "gpu", ("minilm", "open_minilm"), "none"),
    "onnx": ProviderRow("dense", "gpu", ("onnx_folder", "open_onnx")),
    "sentence-transformers": ProviderRow("dense", "gpu", ("sentence_models", "open_sentence_transformers")),
    "tei": ProviderRow("dense", "io", ("server", "open_server")),
    "openai": ProviderRow("dense", "io", ("server", "open_server")),
    "splade": ProviderRow("sparse", "gpu", ("splade", "open_splade")),
}
CROSS_ENCODER = "cross-encoder"
"""The name of the reranker that is built in."""
KIND = "providers"
TABLE: Registry[ProviderRow | Plugin] = Registry(KIND, PROVIDERS, lambda plugin: plugin)
"""All providers: those above, and plug-ins."""


def open_dense(spec: str, limits: ServerLimits | None = None) -> "DenseProvider":
    """Open the dense provider that `spec` names. `limits` applies to providers behind a server."""
    require_family(spec, "dense")
    kind, row, detail = _parse_spec(spec)
    if isinstance(row, Plugin):
        dense: DenseProvider = _open_plugin(row, detail, "dense", ("name", "dimensions", "embed", "close"))
        return dense
    function = _load_opener(row)
    if row.policy == "io":
        provider: DenseProvider = function(kind, detail, limits or ServerLimits())
    elif kind == "hash":
        provider = function(_parse_dimensions(detail))
    else:
        provider = function(*filter(None, [detail]))
    return provider


def open_sparse(spec: str) -> "SparseProvider":
    """Open the sparse provider that `spec` names."""
    require_family(spec, "sparse")
    _, row, detail = _parse_spec(spec)
    if isinstance(row, Plugin):
        sparse: SparseProvider = _open_plugin(row, detail, "sparse", ("name", "vocabulary_size", "encode", "close"))
        return sparse
    provider: SparseProvider = _load_opener(row)(detail)
    return provider


def policy(spec: str) -> Policy:
    """The worker policy for this provider: processes, or threads that share a model or a server. A plug-in names it as
    its attribute `policy`."""
    row = _parse_spec(spec)[1]
    if not isinstance(row, Plugin):
        return row.policy
    found: Policy = getattr(row.load(), "policy", "cpu")
    if found not in ("cpu", "gpu", "io"):
        raise OperatorError(f"cannot use the plug-in {row} ({KIND}): its policy must be cpu, gpu or io")
    return found


def require_family(spec: str, family: str) -> None:
    """Raise OperatorError if a provider is unknown, or computes vectors of another family. A plug-in is imported."""
    row = _parse_spec(spec)[1]
    if isinstance(row, Plugin):
        row.load()
    elif row.family != family:
        shown = redact(spec)
        raise OperatorError(f"{shown!r} computes {row.family} vectors; give it as --{row.family} {shown}")


def needs_trust(spec: str) -> bool:
    """Whether a provider runs code of others, reads files that the user names, or sends texts elsewhere."""
    row = PROVIDERS.get(spec.partition(":")[0])
    return row is None or row.detail == "must"


def _load_opener(row: ProviderRow) -> Any:
    module, function = row.opener
    return getattr(import_module(f".{module}", __package__), function)


def _open_plugin(plugin: Plugin, detail: str, family: str, needs: tuple[str, ...]) -> Any:
    provider = plugin.load()(detail)
    missing = [name for name in needs if not hasattr(provider, name)]
    if missing:
        raise OperatorError(
            f"the plug-in {plugin} ({KIND}) has made no provider of {family} vectors: it has no {', '.join(missing)}"
        )
    return provider


def identity(spec: str) -> str:
    """What the vectors depend on, as far as it is known without loading a model or calling a server."""
    kind, row, detail = _parse_spec(spec)
    if isinstance(row, Plugin):
        return f"{row.identity} {detail}"
    if kind == "hash":
        return f"hash/{versions.HASH}:{_parse_dimensions(detail)}"
    if kind == "static":
        return f"static/{versions.STATIC}"
    if kind == "wordllama":
        from .static.wordllama import WEIGHTS, package_folder

        weights = hash_folder((package_folder() / WEIGHTS).parent)
        return f"wordllama {list_package_versions('wordllama', 'tokenizers')} {weights}"
    if kind == "minilm":
        from .minilm import PACKAGE, model_folder

        installed = list_package_versions(PACKAGE, "onnxruntime", "tokenizers")
        return f"minilm windows/{versions.WINDOWS} {installed} {hash_folder(model_folder())}"
    if kind == "onnx":
        installed = list_package_versions("onnxruntime", "tokenizers")
        return f"onnx windows/{versions.WINDOWS} {installed} {hash_folder(detail)}"
    if kind in ("sentence-transformers", "splade"):
        installed = list_package_versions("sentence-transformers", "transformers", "torch")
        windows = f" windows/{versions.WINDOWS}" if kind != "splade" else ""
        return f"{kind}{windows} {installed} {model_identity(detail)}"
    from .server import parse_server_address

    parse_server_address(kind, detail)
    return f"{kind} {detail}"


def _parse_spec(spec: str) -> tuple[str, ProviderRow | Plugin, str]:
    """The kind of the provider, its row, and what follows the colon, without credentials."""
    spec = hide_credentials(spec)
    kind, detail = TABLE.split(spec)
    row = TABLE.find(kind)
    allowed = f"it must be {_DENSE}, or for sparse vectors {_SPARSE}, or {_PLUGIN}"
    if row is None:
        raise OperatorError(f"unknown provider {redact(spec)!r}: {allowed}")
    has_colon = len(spec) > len(kind)
    if not isinstance(row, Plugin) and (
        has_colon != bool(detail) or (row.detail == "must" and not detail) or (row.detail == "none" and detail)
    ):
        raise OperatorError(f"invalid provider {redact(spec)!r}: {allowed}")
    return kind, row, detail


def _parse_dimensions(detail: str) -> int:
    if not detail:
        return versions.HASH_DIMENSIONS
    if not detail.isascii() or not detail.isdecimal() or not 1 <= int(detail) <= versions.HASH_DIMENSIONS_MAX:
        raise OperatorError(f"hash:DIMENSIONS takes a number from 1 to {versions.HASH_DIMENSIONS_MAX}, got {detail!r}")
    return int(detail)
