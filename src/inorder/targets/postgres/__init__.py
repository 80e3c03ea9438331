"""PostgreSQL with pgvector as a target, and search in it."""
