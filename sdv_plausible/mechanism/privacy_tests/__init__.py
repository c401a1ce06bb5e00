"""Privacy tests: which rows are released, the cost, and the privacy unit."""
