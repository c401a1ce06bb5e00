"""Models from count tables that others published with a known noise."""
