"""Which rows of a fitted model may leave, who draws them, and what that costs."""
