"""Who draws the rows of a fitted release, and what they are drawn from."""
