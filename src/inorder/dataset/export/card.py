"""The dataset card, `README.md`: its head is YAML that the Hugging Face Hub and `datasets` read."""

from .manifest import ExportManifest

NAME = "README.md"
_SUFFIXES = {"parquet": "parquet", "jsonl": "jsonl"}
_FIRST = ("chunks", "documents")
"""Which table opens by default."""


def write_card(manifest: ExportManifest) -> bytes:
    """The card of an export."""
    tables = manifest.tables
    default = next((name for name in _FIRST if name in tables), next(iter(tables), ""))
    lines = ["---", "tags:", "- inorder"]
    suffix = _SUFFIXES.get(manifest.format)
    if suffix is not None:
        lines.append("configs:")
        for name in tables:
            lines += [f"- config_name: {name.replace('/', '-')}", f"  data_files: {name}/*.{suffix}"]
            lines += ["  default: true"] if name == default else []
    lines += ["---", "", "# Dataset", "", f"Exported by {manifest.generator}.", ""]
    lines += ["| table | documents | rows | files |", "| --- | ---: | ---: | ---: |"]
    for name, table in tables.items():
        files = str(len(table.shards)) if table.shards else ""
        lines.append(f"| `{name}` | {table.documents} | {table.rows} | {files} |")
    for name, table in tables.items():
        if table.columns:
            lines += ["", f"## `{name}`", "", "| column | type |", "| --- | --- |"]
            lines += [f"| `{column.name}` | `{column.type}` |" for column in table.columns]
        if table.metadata:
            lines += ["", *(f"- {key}: `{value}`" for key, value in sorted(table.metadata.items()))]
    return "\n".join([*lines, ""]).encode()
