"""Which rows of a fitted model may leave, and as what they are kept."""
