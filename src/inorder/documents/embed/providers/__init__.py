"""Who makes vectors."""
