"""Tests of clusters share cases with those of tables in parts."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "sources"))
