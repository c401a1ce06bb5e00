"""A vote on types alone, without the fit whose step it is."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.learned.raw_queries import FrameColumns
from sdv_plausible.table.learned.type_inference import infer_types, threshold_failure, type_inference_entry


def held_vote(
    texts: pd.DataFrame, epsilon: float, delta: float, rng: KeyedRNG, unit: Neighbours = ONE_ROW
) -> tuple[dict[str, Any], PrivacyLedger]:
    """Types of columns of text, and the ledger of the vote."""
    ledger = PrivacyLedger(delta=delta, neighbours=unit)
    rows = Queryable(FrameColumns(texts), ledger, [type_inference_entry(texts.shape[1], epsilon, delta)], rng)
    return infer_types(rows, [str(name) for name in texts], Spelling(), threshold_failure(delta)), ledger
