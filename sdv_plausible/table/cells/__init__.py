"""Single cells: canonical form, dates, numbers as text, rounding, and values in JSON documents."""
