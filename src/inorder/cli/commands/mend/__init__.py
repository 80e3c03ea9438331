"""Commands that check DATA and repair what failed."""
