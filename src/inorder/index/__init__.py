"""One searchable database of documents and source code."""

from inorder.stage.data_layout import reserve_files

reserve_files("index.sqlite", "index.draft.sqlite", "index.vectors.")
