"""Our job on source code: which files there are, and what is known of each."""
