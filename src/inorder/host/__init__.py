"""The messy world, behind small protocols."""
