"""Import paths of earlier documentation give the modules at their new places."""

import importlib
import subprocess
import sys

import pytest

from sdv_plausible.utils.moved_modules import MOVED


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_path_gives_the_module_at_its_new_place(old, new):
    module = importlib.import_module(new)
    spec = module.__spec__
    assert importlib.import_module(old) is module
    assert module.__spec__ is spec


def test_names_that_were_documented_are_still_there():
    code = (
        "from sdv_plausible.questions.counts import Axis\n"
        "from sdv_plausible.privacy.noise.coins import Coins\n"
        "from sdv_plausible.privacy.noise.recipients import new_secret\n"
        "from sdv_plausible.fit.first_count import TooFewRowsError\n"
        "from sdv_plausible.audit import CanaryGame\n"
        "import sdv_plausible.audit\n"
        "print(sdv_plausible.audit.CanaryGame is CanaryGame)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_other_paths_are_unknown():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sdv_plausible.questions.door")
