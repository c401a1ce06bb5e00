"""Settings of the synthesizers that SDGym compares side by side, one importable class each.

SDGym makes such classes with ``create_synthesizer_variant``, which (0.15.1) cannot make a second one of the same
synthesizer, and whose classes cannot be sent to the processes that ``timeout=`` starts. Subclasses in a module can.
SDGym names a row of its table after the class; no name may begin another one's, or their saved files are confused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

try:
    from sdgym.synthesizers.sdv import create_sdv_synthesizer_class
except ImportError as error:
    raise ImportError(
        f"SDGym cannot be used here ({error}). It needs SDV below 2: install our extra into an environment of its own, "
        "pip install 'sdv-plausible[sdgym]'"
    ) from error

from sdv_plausible import RandomizedTest, ReleaseTest

MODELLED = (
    "numerical",
    "datetime",
    "categorical",
    "boolean",
    "ordinal",
)  # the others are ids and personal data
Plausible: Any = create_sdv_synthesizer_class("PlausibleDeniabilitySynthesizer")
TVAE: Any = create_sdv_synthesizer_class("TVAESynthesizer")
CTGAN: Any = create_sdv_synthesizer_class("CTGANSynthesizer")


class _Variant:
    """What the variants share: they are not listed among SDGym's own, and show their settings."""

    _NATIVELY_SUPPORTED = False
    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {}

    @classmethod
    def settings(cls) -> str:
        """The parameters that differ from the defaults."""
        return _written(cls._MODEL_KWARGS.items())


class ShortTVAE(_Variant, TVAE):
    """SDV's TVAE, stopped early. Not private."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epochs": 10}


class ShortCTGAN(_Variant, CTGAN):
    """SDV's CTGAN, stopped early. Not private."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epochs": 10}


class PlausibleEpsilonTenth(_Variant, Plausible):
    """A small budget, types and domain learned under it: a guarantee for tables of which nothing was declared."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epsilon": 0.1, "types": "voted"}


class PlausibleEpsilonOne(_Variant, Plausible):
    """The default budget, types and domain learned under it."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epsilon": 1.0, "types": "voted"}


class PlausibleEpsilonEight(_Variant, Plausible):
    """A large budget, types and domain learned under it."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epsilon": 8.0, "types": "voted"}


class PlausibleNoNoise(_Variant, Plausible):
    """What the model can do without noise. No claim."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"epsilon": math.inf}


class _KeepsSeedValues(_Variant):
    """Keeps the values of a seed record in ``kept`` columns: a fixed omega would mean something else on each table."""

    kept, k = 1, 50
    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"types": "detected"}  # which say what omega is: no claim

    def _fit(self, data: Any, metadata: Any) -> None:
        columns = next(iter(metadata.tables.values())).columns.values()
        modelled = sum(column["sdtype"] in MODELLED for column in columns)
        test = ReleaseTest(k=self.k, omega=modelled - self.kept)
        self._MODEL_KWARGS = {**type(self)._MODEL_KWARGS, "test": test}
        super()._fit(data, metadata)  # type: ignore[misc]

    @classmethod
    def settings(cls) -> str:
        """The parameters that differ from the defaults."""
        return _written([("k", cls.k), *cls._MODEL_KWARGS.items(), ("omega", f"m - {cls.kept}")])


class PlausibleK10Keeps1(_KeepsSeedValues, Plausible):
    """Seeds: one kept column, at least 10 seeds behind every released value of it."""

    k = 10


class PlausibleK50Keeps1(_KeepsSeedValues, Plausible):
    """Seeds: one kept column, at least 50 seeds behind every released value of it."""


class PlausibleK50Keeps3(_KeepsSeedValues, Plausible):
    """Seeds: three kept columns."""

    kept = 3


class PlausibleTest1(_Variant, Plausible):
    """The paper's deterministic test: plausible deniability of each row, no epsilon."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"test": "deterministic", "types": "detected"}


class PlausibleTest2(_Variant, Plausible):
    """The paper's randomised test: every row costs, so the rows are capped."""

    _MODEL_KWARGS: ClassVar[dict[str, Any]] = {"test": RandomizedTest(row_cap=5_000), "types": "voted"}


NOT_PRIVATE = [ShortTVAE]
BUDGETS = [PlausibleEpsilonTenth, PlausibleEpsilonOne, PlausibleEpsilonEight, PlausibleNoNoise]
SEEDS = [PlausibleK10Keeps1, PlausibleK50Keeps1, PlausibleK50Keeps3, PlausibleTest1, PlausibleTest2]


def _written(parameters: Iterable[tuple[str, Any]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters)
