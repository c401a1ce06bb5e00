"""From a fitted model to rows.

What a release costs, the privacy test in front of it, and who draws the rows.
"""
