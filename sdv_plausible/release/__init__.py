"""A finished release: the object, its file, rows, error bars, and papers on it."""
