"""Search in documents and source code."""
