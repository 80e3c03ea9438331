"""Which chunks answer a question best."""
