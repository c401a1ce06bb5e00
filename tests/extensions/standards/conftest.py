"""Tests of these commands share the table and the release of the other commands' tests."""

from tests.cli.conftest import declared, holder  # noqa: F401
