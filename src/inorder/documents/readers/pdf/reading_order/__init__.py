"""The order in which the lines of a page are read: by columns, as drawn, and down in vertical text."""
