"""Shared by all pages: the server and its access control."""
