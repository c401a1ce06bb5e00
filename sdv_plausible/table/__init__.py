"""Between a DataFrame and codes: the domain of every column, where it came from, and the translation."""
