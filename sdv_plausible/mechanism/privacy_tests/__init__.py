"""Which rows may leave, what that costs, and whom it protects."""
