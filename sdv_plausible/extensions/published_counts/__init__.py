"""Models from counts that somebody else published with a known noise."""
