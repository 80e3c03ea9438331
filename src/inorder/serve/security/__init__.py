"""Which requests are answered, with which headers, and within which limits."""
