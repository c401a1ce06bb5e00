"""Test cases for all features of a fit, keyed by what the package registers.

The tests of the privacy guarantee (replay, repeated queries, sensitivities) run over these cases. ``test_guarded.py`` reports
features without a case: add a case here for a new model, engine, entry point, neighbouring relation, privacy test or option, or
the reason why it needs none.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import sdv_plausible
from sdv_plausible import AdaptiveNetwork, Budget, Latent, PaperNetwork
from sdv_plausible.models import NAMES, learner_config, make_learner
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.privacy.neighbours import RELATIONS, Neighbours

PACKAGE = Path(sdv_plausible.__file__).parent


def sources() -> dict[str, str]:
    """Source of every module of the package, by path."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


# --- models -----------------------------------------------------------------------------------------------------------

LATENT = {"steps": 3, "sample": 0.5, "hidden": 6, "latent": 2}


def models(arcs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The argument ``model`` for every model; models with a fixed structure take ``arcs``."""
    found = {
        "adaptive": "bayesian_network",
        "workload": AdaptiveNetwork(workload=[[child, *of] for child, of in arcs.items() if of]),
        "cfs": "paper",
        "given arcs": PaperNetwork(structure=arcs),
        "normal": PaperNetwork(parameters="posterior", conditionals="normal"),
        "as printed": PaperNetwork(noise="paper", accounting="paper"),
        "independent": "independent", "correlated": "correlated", "copula": "gaussian_copula",
        "latent": Latent(**LATENT), "uniform": "uniform", "random": "random",
    }  # fmt: skip
    return {name: {"model": model} for name, model in found.items()}


def learners(arcs: Mapping[str, Any]) -> dict[str, Any]:
    """The learners of these models."""
    return {name: make_learner(case["model"]) for name, case in models(arcs).items()}


def unequal(registered: Collection[Any], cases: Collection[Any]) -> list[str]:
    """Registered items without a case, and cases of items that are not registered."""
    return sorted(map(str, {*registered} ^ {*cases}))


def models_without_a_case(names: Collection[str] = NAMES) -> list[str]:
    """Models without a case, and values of their learners' ``Literal`` parameters without one."""
    found = unequal(names, [learner_config(case["model"])["model"] for case in models({}).values()])
    made = list(learners({}).values())
    for kind in {type(learner) for learner in made}:
        alike = [one for one in made if type(one) is kind]
        met = {field.name: [getattr(one, field.name) for one in alike] for field in fields(kind)}
        for name, hint in get_type_hints(kind, localns={"PublicCodes": PublicCodes}).items():
            if get_origin(hint) is not ClassVar:
                found += [f"{kind.__name__}.{name}={v!r}" for v in closed(hint) if v not in met[name]]
    return found


def closed(hint: Any) -> list[Any]:
    """Values of the ``Literal`` types in a type hint."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [value for part in get_args(hint) for value in closed(part)]


# --- units ------------------------------------------------------------------------------------------------------------

UNITS = {
    "row": Neighbours(),
    "person": Neighbours(rows=3, person="ticket"),
    "row replaced": Neighbours(replace=True),
    "person replaced": Neighbours(rows=2, replace=True, person="ticket"),
}


def units_without_a_case(relations: Iterable[str] = RELATIONS, unit: type = Neighbours) -> list[str]:
    """Relations without a case, for one and several rows per unit, and fields of a unit without one."""
    wanted = {(relation, several) for relation in relations for several in (False, True)}
    met = {("replace_one" if unit.replace else "add_remove", unit.rows > 1) for unit in UNITS.values()}
    return unequal(wanted, met) + unequal([f.name for f in fields(unit)], ("rows", "replace", "person"))


def parameters_of(unit: Neighbours) -> dict[str, Any]:
    """Parameters of the synthesizer for a unit; empty for the default."""
    relation = {"neighbours": "replace_one"} if unit.replace else {}
    people = {"person": unit.person, "rows_per_person": unit.rows} if unit.person else {}
    return {**relation, **people}


# --- queries ----------------------------------------------------------------------------------------------------------


def questions(modules: Mapping[str, str] | None = None) -> set[str]:
    """Names of all classes with a ``proof`` attribute: the page that proves their sensitivity."""
    found = set()
    for source in (sources() if modules is None else modules).values():
        for made in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
            targets = [name for node in made.body if isinstance(node, ast.Assign) for name in node.targets]
            found |= {made.name} if "proof" in [getattr(name, "id", "") for name in targets] else set()
    return found


# --- entry points -----------------------------------------------------------------------------------------------------

OPENERS = (
    "Queryable", "fit_release", "learn_model", "build_domain", "learned_file", "fit_source",
    "PlausibleDeniabilitySynthesizer", "InMemoryRows", "JoinedRows", "SourceRows", "open_in_parts",
)  # fmt: skip
# Function that opens the rows, or calls one that does -> the entry point through which the replay test reaches it.
DOORS = {
    "fitting/fit.py: Fit.run": "synthesizer",
    "fitting/fit.py: Fit._learn_domain": "synthesizer",
    "fitting/fit.py: Fit._infer_types": "voted",
    "fitting/fit.py: Fit._count_rows": "counted",
    "fitting/fit_source.py: fit_source": "fit_source",
    "sdv/synthesizer.py: PlausibleDeniabilitySynthesizer.fit": "synthesizer in parts",
    "sdv/synthesizer.py: PlausibleDeniabilitySynthesizer._run_fit": "synthesizer",
    "fitting/fit.py: fit_release": "synthesizer",
    "fitting/fit.py: learn_model": "synthesizer",
    "table/domain_building.py: build_domain": "synthesizer",
    "cli/run_fit.py: make_synthesizer": "fit",
    "cli/declare.py: _learn_domain": "declare",
    "fitting/domain_learning.py: learned_file": "declare",
    "extensions/app/pages/release_request.py: ReleaseRequest._synthesizer": "app",
    "extensions/multi_table/related_fit.py: TableFit.run": "families",
    "extensions/multi_table/related_fit.py: OwnColumns.read": "families",
}
REPLAYED_ELSEWHERE = {
    "families": "tests/extensions/multi_table/test_related_replay.py",
    "counted": "tests/fitting/test_row_count_check.py",
}
"""Entry points with their own replay test, and that test."""
NO_DOORS = {
    "fitting/partitioned_table.py: PartitionedTable.rows": "rows of a fit, which are queried later",
    "fitting/fit_rows.py: InMemoryRows.of_persons": "a subset of the rows of a fit",
    "sources/source_rows.py: SourceRows.of_persons": "a subset of the rows of a fit",
    "fitting/fit_rows.py: InMemoryRows.read_again": "the rows of a fit, cell by cell",
    "sources/source_rows.py: SourceRows.read_again": "the rows of a fit, cell by cell",
    "cli/demo.py: run": "a simulated table",
    "extensions/app/review/review_command.py: plan_of": "a plan reads no row",
    "extensions/audit/audit_command.py: run.factory": "for the data owner only",
    "models/model_checks.py: _fit_and_check": "made-up rows of a model's author",
}
# Command -> its entry point, or why it has none.
COMMANDS = {name: name for name in ("fit", "synthesize", "describe", "declare", "app", "families")}
NO_COMMANDS = {
    "demo": "a simulated table", "plan": "reads no row", "completion": "words of options",
    "check": "for the data owner only", "inspect": "for the data owner only", "audit": "for the data owner only",
    "report": "compares with the rows, for the data owner only",
    "sample": "from a release file", "generate": "from a release file", "card": "from a release file",
    "registry": "from a release's ledger",
    "types": "from a release's schema", "key": "no table at all", "verify": "from a release file",
}  # fmt: skip


def doors(modules: Mapping[str, str] | None = None) -> dict[str, tuple[str, int]]:
    """Functions of the package that call an opener by name, with module and first line."""
    found: dict[str, tuple[str, int]] = {}

    def look(node: ast.AST, path: str, name: str, line: int) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                look(child, path, f"{name}.{child.name}".lstrip("."), first)
                continue
            called = child.func if isinstance(child, ast.Call) else None
            if getattr(called, "id", getattr(called, "attr", None)) in OPENERS:
                found[f"{path}: {name}"] = path, line
            look(child, path, name, line)

    for path, source in (sources() if modules is None else modules).items():
        look(ast.parse(source), path, "", 0)
    return found


# --- synthesizer classes ----------------------------------------------------------------------------------------------


def synthesizers(more: Mapping[str, str] | None = None) -> set[str]:
    """Public classes with ``fit`` and ``sample``, and all synthesizer classes without a subclass."""
    public = {name: getattr(sdv_plausible, name) for name in sdv_plausible.__all__}
    classes = {name: one for name, one in public.items() if isinstance(one, type)}
    found = {
        n for n, one in classes.items() if all(callable(getattr(one, act, None)) for act in ("fit", "sample"))
    }
    made, general = set(), set()
    for source in {**sources(), **(more or {})}.values():
        for node in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            made |= {node.name} if node.name.endswith("Synthesizer") and "Protocol" not in bases else set()
            general |= bases
    return found | (made - general)


# --- parameters of a fit ----------------------------------------------------------------------------------------------


def parameters_without_a_case(function: Any, cases: Iterable[Mapping[str, Any]]) -> set[str]:
    """Parameters of a function, and values of ``Literal`` ones, that no case sets to other than the default."""
    hints, given = (
        get_type_hints(function, localns={"Budget": Budget}),
        [(name, value) for case in cases for name, value in case.items()],
    )
    lacking = set()
    for name, parameter in inspect.signature(function).parameters.items():
        met = [value for given_name, value in given if given_name == name]
        values = [value for value in closed(hints.get(name)) if value != parameter.default]
        words = [getattr(x, "name", x) for x in met if type(x) is str or hasattr(x, "name")]
        lacking |= {f"{name}={value!r}" for value in values if value not in words}
        if not values and all(value is parameter.default for value in met):
            lacking.add(name)
    return lacking
