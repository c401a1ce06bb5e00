"""Environments of their own for packages that the project's cannot hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "results" / "environments"


def interpreter(name: str, *requirements: str) -> Path:
    """Interpreter of environment ``name``, made on first use.

    Raises
    ------
    subprocess.CalledProcessError
        If it cannot be made; the next call tries again.
    """
    folder = FOLDER / name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, text=True)
        install = [python, "-m", "pip", "install", "-q", "-c", HERE.parent / "constraints.txt", *requirements]
        subprocess.run(install, check=True, capture_output=True, text=True)
        (folder / "ready").touch()
    return python
