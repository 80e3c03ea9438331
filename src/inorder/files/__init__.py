"""Files as every job meets them: walked in a fixed order, decoded to text."""
