"""The stats and the hashes of files."""
