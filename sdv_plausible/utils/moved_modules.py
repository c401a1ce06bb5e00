"""Old import paths from the documentation, redirected to the modules' new locations."""

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
    "sdv_plausible.privacy.noise.recipients": "sdv_plausible.privacy.noise.keyed_rng",
    "sdv_plausible.questions": "sdv_plausible.queries",
    "sdv_plausible.questions.counts": "sdv_plausible.queries.count_queries",
    "sdv_plausible.questions.queryable": "sdv_plausible.queries.queryable",
    "sdv_plausible.release.papers": "sdv_plausible.release.card",
    "sdv_plausible.release.papers.privacy_card": "sdv_plausible.release.card.privacy_card",
}


class _MovedLoader(Loader):
    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002
        module = import_module(self.target)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # restore the spec: the import system has set that of the old name


class _MovedFinder(MetaPathFinder):
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if not fullname.startswith("sdv_plausible."):  # the finder sees every import of the process
            return None
        # Submodules are redirected too, so that no module is loaded twice under two names.
        old = next(
            (moved for moved in sorted(MOVED, reverse=True) if f"{fullname}.".startswith(f"{moved}.")), None
        )
        if old is None:
            return None
        return ModuleSpec(fullname, _MovedLoader(MOVED[old] + fullname[len(old) :]), is_package=True)


def install() -> None:
    """Register the redirects."""
    if not any(type(finder).__name__ == _MovedFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedFinder())
