"""Commands that answer questions from the index."""
