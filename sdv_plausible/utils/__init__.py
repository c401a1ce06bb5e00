"""Helpers that know nothing of tables or privacy: counting codes, whole files, templates, late names."""
