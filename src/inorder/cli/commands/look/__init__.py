"""Commands that show what DATA holds and how runs are set."""
