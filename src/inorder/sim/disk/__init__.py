"""A simulated disk that forgets what was not synced."""
