"""Learn domains and types of undeclared columns, within a privacy budget or without a guarantee."""
