"""Documents with known truth, scores of what a tool read, and the tools that are compared."""
