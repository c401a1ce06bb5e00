"""Import paths that documentation named before modules moved: importing one gives the module at its new place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "sdv_plausible.audit": "sdv_plausible.extensions.audit",
    "sdv_plausible.fit": "sdv_plausible.fitting",
    "sdv_plausible.fit.first_count": "sdv_plausible.fitting.row_count_check",
    "sdv_plausible.privacy.noise.coins": "sdv_plausible.privacy.noise.keyed_rng",
    "sdv_plausible.privacy.noise.recipients": "sdv_plausible.privacy.noise.stable_seeds",
    "sdv_plausible.questions": "sdv_plausible.queries",
    "sdv_plausible.questions.counts": "sdv_plausible.queries.count_queries",
    "sdv_plausible.questions.queryable": "sdv_plausible.queries.queryable",
    "sdv_plausible.release.papers": "sdv_plausible.release.card",
    "sdv_plausible.release.papers.privacy_card": "sdv_plausible.release.card.privacy_card",
}


class _MovedLoader(Loader):
    def __init__(self, place: str) -> None:
        self.place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.place)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put that of the old name there


class _MovedFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        # Also of modules below them, so that no module is loaded a second time under an old name.
        old = next((one for one in sorted(MOVED, reverse=True) if f"{fullname}.".startswith(f"{one}.")), None)
        if old is None:
            return None
        return ModuleSpec(fullname, _MovedLoader(MOVED[old] + fullname[len(old) :]), is_package=True)


def install() -> None:
    """Make the old paths importable."""
    if not any(type(finder).__name__ == _MovedFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedFinder())
