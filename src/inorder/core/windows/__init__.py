"""Reading the plan and cutting it into contiguous windows."""
