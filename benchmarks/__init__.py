"""Benchmarks: one script per table or figure; README.md says what each shows."""
