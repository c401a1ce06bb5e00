"""The fit: from declarations and rows, in memory or in parts, to a release."""
