"""What columns hold where nobody declared it: voted, learned under a budget, or inferred without a claim."""
