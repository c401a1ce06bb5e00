"""What may take a text of a foreign document somewhere is on one list, with the reason why it is safe there.

The list is compared with the syntax trees of the package, and with its templates and scripts: names of files that
are made, markup that is not escaped, attributes and modules named by texts, patterns and formats that are not
written in the program, unpickling, programs that are started, words that are printed, and what objects say of
themselves. What is new there is a line here, and a place in `tests/hostile_places.py` where a document reaches it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "sdv_plausible"
FOLDERS = ("path", "folder", "parent", "work", "hidden", "whole", "output", "near", "root", "place", "home")
PATTERNS = {"compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
OPENING = {"write_text", "write_bytes", "mkdtemp", "NamedTemporaryFile", "symlink_to", "touch"}
SHOWN = {"__str__", "__repr__", "_repr_html_", "_repr_mimebundle_", "__format__"}


def _is_literal(node: ast.AST | None) -> bool:
    return node is None or isinstance(node, ast.Constant)


def _last(node: ast.AST) -> str:
    """The last name of a dotted one."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _first(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _kinds(node: ast.AST) -> Iterator[str]:
    """What a node does that is on the list."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        is_folder = any(_last(node.left).lower().endswith(word) for word in FOLDERS)
        if isinstance(node.right, ast.JoinedStr) or (is_folder and not _is_literal(node.right)):
            yield "file name"
    if isinstance(node, ast.FunctionDef) and node.name in SHOWN:
        yield "shown"
    if not isinstance(node, ast.Call):
        return
    name, base = _last(node.func), _first(node.func)
    first = node.args[0] if node.args else None
    makes_paths = name in ("with_name", "with_stem", "with_suffix", "joinpath") or (
        name == "join" and ast.unparse(node.func) == "os.path.join"
    )
    if makes_paths and not _is_literal(first):
        yield "file name"
    if name in OPENING or (name == "open" and _writes(node)):
        yield "file written"
    if name in ("Markup", "Environment", "from_string"):
        yield "markup"
    if (
        name in ("getattr", "setattr", "delattr", "attrgetter", "methodcaller")
        and len(node.args) > (name[-4:] == "attr")
        and not _is_literal(node.args[1 if name.endswith("attr") else 0])
    ):
        yield "name in a text"
    if name in ("import_module", "__import__", "eval", "exec", "globals", "find_spec") and not _is_literal(
        first
    ):
        yield "name in a text"
    if base == "re" and name in PATTERNS and not _is_literal(first):
        yield "pattern"
    if (
        name in ("format", "format_map")
        and isinstance(node.func, ast.Attribute)
        and not _is_literal(node.func.value)
    ):
        yield "format"
    if name in ("strftime", "strptime") and not all(map(_is_literal, node.args)):
        yield "date format"
    if name in ("load", "loads", "Unpickler") and base in (
        "pickle",
        "np",
        "yaml",
        "joblib",
        "marshal",
        "torch",
    ):
        yield "objects read"
    if base in ("ET", "etree") and name in ("parse", "fromstring", "iterparse", "XML"):
        yield "objects read"
    if base in ("subprocess", "webbrowser", "socket") or ast.unparse(node.func) in (
        "os.system",
        "os.popen",
        "os.startfile",
    ):
        yield "program"
    if name == "print" or ast.unparse(node.func) in (
        "sys.stderr.write",
        "sys.stdout.write",
        "traceback.print_exception",
    ):
        yield "printed"
    if name in ("sql", "execute", "project", "selectExpr", "query", "expr") and not all(
        map(_is_literal, node.args)
    ):
        yield "SQL"


def _writes(node: ast.Call) -> bool:
    modes = [
        one.value for one in [*node.args, *(k.value for k in node.keywords)] if isinstance(one, ast.Constant)
    ]
    flags = any(isinstance(one, ast.Name) and "flags" in one.id for one in node.args)
    return flags or any(
        isinstance(mode, str) and re.fullmatch(r"[rbt]*[wax+][rbt+]*", mode) for mode in modes
    )


def found_in(source: str) -> list[tuple[str, str]]:
    """What of a module is on the list: kind, and the expression, or the class of a method."""
    tree = ast.parse(source)
    owners = {
        id(inner): outer.name
        for outer in ast.walk(tree)
        if isinstance(outer, ast.ClassDef)
        for inner in outer.body
    }
    return [
        (
            kind,
            f"{owners.get(id(node), '')}.{node.name}"
            if isinstance(node, ast.FunctionDef)
            else ast.unparse(node),
        )
        for node in ast.walk(tree)
        for kind in _kinds(node)
    ]


def found() -> dict[tuple[str, str], list[str]]:
    """The same of the whole package, by kind and module."""
    every: dict[tuple[str, str], list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for kind, words in found_in(path.read_text()):
            every.setdefault((kind, path.relative_to(PACKAGE).as_posix()), []).append(words)
    return every


LISTED = Path(__file__).with_name("hostile_scan.json")
SAFE = {
    "file name": "names of tables and files are checked (`verifying/table_names.py`), or come from the user",
    "file written": "at paths that the user names, or inside a folder that was made for it",
    "markup": "templates escape by themselves",
    "name in a text": "names are of a closed list of the program, or fields of its own classes",
    "pattern": "patterns are the program's, or checked in length before",
    "format": "formats are the program's",
    "date format": "formats of dates are checked in length and directives",
    "objects read": "numbers without pickles, safe YAML, XML without entities",
    "program": "started with a list of words, none from a document",
    "SQL": "names are quoted",
    "printed": "control characters are written out",
    "shown": "control characters are written out",
}
"""Why a text of a foreign document does nothing at the places of each kind."""


def test_every_place_is_listed() -> None:
    """A new place is one more in the list, once it is safe for the reason of its kind, or has a better one."""
    listed = {
        (kind, module): number
        for kind, modules in json.loads(LISTED.read_text("utf-8")).items()
        for module, number in modules.items()
    }
    seen = {place: len(words) for place, words in found().items()}
    assert {kind for kind, _ in listed} == {*SAFE}
    changed = {place: found()[place] for place, number in seen.items() if listed.get(place) != number}
    assert not changed, f"look at these places, and write their numbers into {LISTED.name}: {changed}"
    assert not listed.keys() - seen.keys(), f"gone, leave them out of {LISTED.name}"


def test_planted_places_are_seen() -> None:
    """One for each kind that a document could reach."""
    planted = {
        "file name": 'x = folder / f"{name}.csv"',
        "file written": "open(name, 'w')",
        "markup": "Markup(text)",
        "name in a text": "getattr(one, name)",
        "pattern": "re.compile(text)",
        "format": "text.format(1)",
        "date format": "moment.strftime(form)",
        "objects read": "pickle.loads(data)",
        "program": "subprocess.run(text)",
        "SQL": "connection.execute(text)",
        "printed": "print(text)",
        "shown": "class A:\n    def __repr__(self):\n        return self.text",
    }
    assert {*planted} == {*SAFE}
    for kind, source in planted.items():
        assert kind in [one for one, _ in found_in(source)], kind
    assert not found_in("x = 1 + y")
