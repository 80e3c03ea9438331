"""From chunks to vectors: dense, sparse and lexical, each behind a small protocol."""
