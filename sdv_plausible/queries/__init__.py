"""Queries on the rows, each with a proved sensitivity, charged to the budget and answered with noise."""
