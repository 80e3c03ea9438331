"""One searchable database of documents and source code."""
