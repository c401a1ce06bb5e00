"""Helpers without knowledge of tables or privacy: counting, atomic files, templates, lazy imports."""
