"""Whatever is imported first, the class is in SDV, and SDMetrics has our metrics and report; the package itself imports nothing heavy."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Mapping

import pytest

import sdv_plausible

OURS, SDVS = (
    "from sdv_plausible import PlausibleDeniabilitySynthesizer as A",
    "from sdv.single_table import PlausibleDeniabilitySynthesizer as B",
)
MODULE = "from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer as A"
# SDV's own way to save, read by programs that came by the class in another way.
SAVED = """
import pandas; from sdv_plausible.sdv.metadata import metadata_of
saved = A(metadata_of({"a": {"sdtype": "categorical"}}), domain={"a": {"range_values": ["x", "y"]}}, model="uniform")
saved.fit(pandas.DataFrame({"a": ["x", "y"] * 50})); saved.save(PATH)
"""
LOADED = "assert type(loaded) is A and len(loaded.sample(1)) == 1"
ORDERS = {
    "sdv's alone": f"import sdv; A = B = sdv.single_table.PlausibleDeniabilitySynthesizer\n{SAVED}",
    "ours first": f"{OURS}; loaded = A.load(PATH); {SDVS}; {LOADED}",
    "our module first": f"{MODULE}; import sdv; B = sdv.single_table.PlausibleDeniabilitySynthesizer",
    "sdv first": f"import sdv.utils; loaded = sdv.utils.load_synthesizer(PATH); {SDVS}; {OURS}; {LOADED}",
    "sdv's module first": f"{SDVS}; {MODULE}",
}
METRICS = {
    "ours first": "import sdv_plausible.evaluation as ours",
    "our metrics first": "import sdv_plausible.evaluation.metrics, sdv_plausible.evaluation as ours",
    "our report first": "from sdv_plausible.evaluation import PlausibleDeniabilityReport; import sdv_plausible.evaluation as ours",
    "sdmetrics first": "import sdmetrics.reports; import sdv_plausible.evaluation as ours",
}
SAME = (
    "from sdmetrics import reports, single_table; "
    "found = {name: getattr(single_table, name, None) or getattr(reports, name, None) for name in ours.__all__}; "
    "assert all(found[name] is getattr(ours, name) for name in ours.__all__), found"
)
# An object names its class, wherever the class was imported from: pickles that hold the class itself load as another class.
BY_REFERENCE = """
import copy, io, joblib, pickle, sys, cloudpickle
from sdv.metadata import Metadata
columns = {"columns": {"a": {"sdtype": "numerical"}}}
made = A(Metadata.load_from_dict({"tables": {"t": columns}, "relationships": []}))
assert getattr(sys.modules[A.__module__], A.__qualname__) is A
assert len(cloudpickle.dumps(A)) < 200, "the class itself is in the file"
for how in (pickle, cloudpickle, joblib):
    how.dump(made, file := io.BytesIO())
    assert type(how.load(io.BytesIO(file.getvalue()))) is A, how
assert type(copy.deepcopy(made)) is A
"""
PROGRAMS = {
    **{name: f"{code}\nassert A is B\n{BY_REFERENCE}" for name, code in ORDERS.items()},
    **{f"metrics, {name}": f"{code}; {SAME}" for name, code in METRICS.items()},
}
PLANTED = {
    "planted": "A, B = object(), object(); assert A is B",
    "planted metrics": f"{METRICS['ours first']}; ours.ModelAccuracy = object(); {SAME}",
}


# Runs programs in forks of one process that has loaded what is neither SDV's nor ours: that takes most of the time.
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
    given, command = json.dumps(programs), [sys.executable, "-c", FORKING]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
def test_import_orders(tmp_path):
    path = f"PATH = {str(tmp_path / 'made.pkl')!r}\n"
    raised = run_in_turn({name: path + code for name, code in (PROGRAMS | PLANTED).items()})
    assert {name: raised[name] for name in PROGRAMS} == dict.fromkeys(PROGRAMS, "")
    assert all("AssertionError" in raised[name] for name in PLANTED)


def test_the_package_is_cheap_to_import():
    code = (
        "import sys, sdv_plausible; heavy = {'sdv', 'rdt', 'torch', 'opendp', 'pandas', 'sklearn', 'dp_accounting'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); assert 'plan' in dir(sdv_plausible)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_resolve():
    for name in sdv_plausible.__all__:
        assert getattr(sdv_plausible, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sdv_plausible.nothing


def strangely_named() -> list[str]:
    """Classes whose ``__module__`` need not be imported where they are, or does not know them.

    Where the class statement is, its module and the packages above are imported. Of another module nobody knows, and files
    would then hold the class itself (cloudpickle, which SDV saves with) or not be written at all (pickle).
    """
    found = []
    for module in pkgutil.walk_packages(sdv_plausible.__path__, "sdv_plausible."):
        home = importlib.import_module(module.name)
        for node in ast.parse(inspect.getsource(home)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            kind = getattr(home, node.name)
            place = sys.modules.get(kind.__module__)
            above = f"{module.name}.".startswith(f"{kind.__module__}.")
            if not above or getattr(place, kind.__qualname__, None) is not kind:
                found.append(f"{module.name}.{node.name} says {kind.__module__}.{kind.__qualname__}")
    return found


def test_files_find_every_class_by_the_name_it_gives(monkeypatch):
    assert strangely_named() == []
    monkeypatch.setattr(sdv_plausible.Release, "__module__", "sdv_plausible.release")
    monkeypatch.setattr(sdv_plausible.Budget, "__module__", "sdv_plausible.fitting.fit")
    assert len(strangely_named()) == 2
