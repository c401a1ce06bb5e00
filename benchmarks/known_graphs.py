"""The structure learner without noise against published graphs, and sampled pairs against the data.

Run: python -m benchmarks.known_graphs

Edges are compared without direction (observational data fix directions only up to equivalence). For the pairs: mean and
largest two-way total variation distance between data and as many sampled rows, beside that of two halves of the data.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data")) / "bayesnet_samples"

# child: parents, of the networks' publications (Lauritzen and Spiegelhalter 1988; Spiegelhalter 1992; Binder et al. 1997;
# Beinlich et al. 1989).
GRAPHS = {
    "asia": "tub: asia; lung: smoke; bronc: smoke; either: tub lung; xray: either; dysp: either bronc",
    "child": (
        "Disease: BirthAsphyxia; Age: Disease Sick; LVH: Disease; DuctFlow: Disease; CardiacMixing: Disease; "
        "LungParench: Disease; LungFlow: Disease; Sick: Disease; LVHreport: LVH; HypDistrib: DuctFlow CardiacMixing; "
        "HypoxiaInO2: CardiacMixing LungParench; CO2: LungParench; ChestXray: LungParench LungFlow; "
        "Grunting: LungParench Sick; LowerBodyO2: HypDistrib HypoxiaInO2; RUQO2: HypoxiaInO2; CO2Report: CO2; "
        "XrayReport: ChestXray; GruntingReport: Grunting"
    ),
    "insurance": (
        "GoodStudent: SocioEcon Age; SocioEcon: Age; RiskAversion: Age SocioEcon; VehicleYear: SocioEcon RiskAversion; "
        "ThisCarDam: RuggedAuto Accident; RuggedAuto: VehicleYear MakeModel; Accident: DrivQuality Mileage Antilock; "
        "MakeModel: SocioEcon RiskAversion; DrivQuality: DrivingSkill RiskAversion; Antilock: VehicleYear MakeModel; "
        "DrivingSkill: Age SeniorTrain; SeniorTrain: Age RiskAversion; ThisCarCost: ThisCarDam Theft CarValue; "
        "Theft: AntiTheft HomeBase CarValue; CarValue: VehicleYear MakeModel Mileage; HomeBase: SocioEcon RiskAversion; "
        "AntiTheft: SocioEcon RiskAversion; PropCost: ThisCarCost OtherCarCost; OtherCarCost: RuggedAuto Accident; "
        "OtherCar: SocioEcon; MedCost: Accident Age Cushioning; Cushioning: RuggedAuto Airbag; "
        "Airbag: VehicleYear MakeModel; ILiCost: Accident; DrivHist: DrivingSkill RiskAversion"
    ),
    "alarm": (
        "HISTORY: LVFAILURE; CVP: LVEDVOLUME; PCWP: LVEDVOLUME; LVEDVOLUME: HYPOVOLEMIA LVFAILURE; "
        "STROKEVOLUME: HYPOVOLEMIA LVFAILURE; HRBP: ERRLOWOUTPUT HR; HREKG: ERRCAUTER HR; HRSAT: ERRCAUTER HR; "
        "TPR: ANAPHYLAXIS; EXPCO2: ARTCO2 VENTLUNG; MINVOL: INTUBATION VENTLUNG; PVSAT: FIO2 VENTALV; SAO2: PVSAT SHUNT; "
        "PAP: PULMEMBOLUS; SHUNT: INTUBATION PULMEMBOLUS; PRESS: INTUBATION KINKEDTUBE VENTTUBE; VENTMACH: MINVOLSET; "
        "VENTTUBE: DISCONNECT VENTMACH; VENTLUNG: INTUBATION KINKEDTUBE VENTTUBE; VENTALV: INTUBATION VENTLUNG; "
        "ARTCO2: VENTALV; CATECHOL: ARTCO2 INSUFFANESTH SAO2 TPR; HR: CATECHOL; CO: HR STROKEVOLUME; BP: CO TPR"
    ),
}


def edges(graph: dict[str, list[str]]) -> set[frozenset[str]]:
    """Undirected edges of {child: parents}."""
    return {frozenset((child, parent)) for child, parents in graph.items() for parent in parents}


def parse(text: str) -> dict[str, list[str]]:
    """Read the compact form above."""
    return {
        child.strip(): parents.split() for child, parents in (part.split(":") for part in text.split(";"))
    }


def pair_distances(first: pd.DataFrame, second: pd.DataFrame) -> np.ndarray:
    """Two-way total variation distance of every pair of columns."""
    found = []
    for a, b in itertools.combinations(first.columns, 2):
        p, q = (pd.crosstab(t[a], t[b], normalize=True).stack() for t in (first, second))
        found.append(p.subtract(q, fill_value=0).abs().sum() / 2)
    return np.array(found)


def main() -> None:
    warnings.simplefilter("ignore")
    print(
        "| network | structure | true edges | learned | right | precision | recall | pairs: mean TVD | max | halves: mean | max |"
    )
    print("|" + " --- |" * 11)
    for name, text in GRAPHS.items():
        table = pd.read_csv(DATA / f"{name}.csv.gz", keep_default_na=False).astype(str)
        truth = edges(parse(text))
        half = len(table) // 2
        halves = pair_distances(table[:half], table[half:])
        specs = {c: {"sdtype": "categorical"} for c in table}
        for structure, model in (("cfs", PaperNetwork()), ("default", "bayesian_network")):
            synth = PlausibleDeniabilitySynthesizer(
                metadata_from_columns(specs), epsilon=math.inf, model=model
            )
            synth.fit(table)
            learned = edges(synth.get_structure())
            right = len(learned & truth)
            pairs = pair_distances(table, synth.sample(len(table)))
            print(
                f"| {name} | {structure} | {len(truth)} | {len(learned)} | {right} "
                f"| {right / max(1, len(learned)):.2f} | {right / len(truth):.2f} "
                f"| {pairs.mean():.4f} | {pairs.max():.3f} | {halves.mean():.4f} | {halves.max():.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
