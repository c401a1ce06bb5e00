"""Parts beside the core: each meets it through the entry points in pyproject.toml, as another package would."""
