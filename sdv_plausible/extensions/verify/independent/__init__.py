"""Independent implementation of the checks of a release file; it shares no code with the package."""
