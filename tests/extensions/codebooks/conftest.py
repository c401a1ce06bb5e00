"""A code book in a file."""

import json

import pytest


@pytest.fixture
def written(tmp_path):
    """A function that writes a text, or a document as JSON, and says where."""

    def write(document, name="book"):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    return write
