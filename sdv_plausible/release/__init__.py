"""From a fitted model to rows: what a release costs, the privacy test in front of it, and who draws the rows."""
