"""Commands that show or check what DATA holds."""
