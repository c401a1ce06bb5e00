"""Environments of their own for packages that the project's cannot hold, and CPU seconds of a command in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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


def own(name: str) -> Path:
    """Interpreter of environment ``name``, which the user made for a peer that no package registry holds.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    python = FOLDER / name / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(
            f"{name} is in no package registry: make an environment that can import it at {FOLDER / name}"
        )
    return python


def cpu_seconds(command: list[object], limit: float, output: Path) -> tuple[float, bool]:
    """CPU seconds of a whole command, its child processes included, and whether it finished within ``limit`` of them.

    A command that does not is stopped with all it started. What it prints goes to ``output``.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    """
    import psutil

    with output.open("w") as file:
        run = subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        watched, seconds = psutil.Process(run.pid), 0.0
        while True:
            done, status, used = os.wait4(run.pid, os.WNOHANG)
            if done:
                break
            try:
                parts = [p.cpu_times() for p in (watched, *watched.children(recursive=True))]
            except psutil.Error:  # a child ended between the two questions
                continue
            seconds = max(seconds, sum(sum(part[:4]) for part in parts))  # reaped children count in part[2:4]
            if seconds > limit:
                os.killpg(run.pid, signal.SIGKILL)
                os.wait4(run.pid, 0)
                run.returncode = -signal.SIGKILL
                return seconds, False
            time.sleep(0.5)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, command, stderr=output.read_text())
    return used.ru_utime + used.ru_stime, True
