"""The page on a release that an officer files."""
