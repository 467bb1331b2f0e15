"""What becomes of the results: one tidy table, verdicts, and the pages that show them."""
