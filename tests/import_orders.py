"""Runs programs that import SDV and the package in different orders, each in a process that has neither yet.

The processes are forks of one that has loaded what is neither SDV's nor ours: that takes most of the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

FORKING = """
import json, os, sys, traceback, warnings
import numpy, pandas, plotly.express, scipy.stats, sklearn.ensemble, torch
assert not {"sdv", "rdt", "sdmetrics", "ctgan", "copulas", "sdv_plausible"} & set(sys.modules)
for name, program in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        warnings.filterwarnings("error", message="Failed to")  # load an add-on, say SDV and SDMetrics
        try:
            exec(program, {})
        except BaseException:
            print(json.dumps([name, traceback.format_exc()]), flush=True)
        else:
            print(json.dumps([name, ""]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def run_in_turn(programs: Mapping[str, str]) -> dict[str, str]:
    """What each program raised, as text; empty where it ran to its end. One that dies is missing."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))
