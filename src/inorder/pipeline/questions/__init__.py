"""What is asked before a run: what it would do, and why it would do that with one file."""
