"""A list of the places where text of an untrusted document may take effect, with the reason why each kind is safe.

The test compares the list with the syntax trees of the package. Kinds of places: names of new files, unescaped markup,
attributes and modules named by a string, patterns and formats that are not literals, unpickling, subprocesses, printed text,
and `__repr__` and its like. Add a new place to the list, and to `tests/hostile_places.py` if a document can reach it.
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
BY_NAME = {
    "attrgetter", "methodcaller", "import_module", "__import__", "eval", "exec", "globals", "find_spec",
}  # fmt: skip
READING = {"pickle", "np", "yaml", "joblib", "marshal", "torch"}
SHOWN = {"__str__", "__repr__", "_repr_html_", "_repr_mimebundle_", "__format__"}


def _is_literal(node: ast.AST | None) -> bool:
    return node is None or isinstance(node, ast.Constant)


def _last(node: ast.AST) -> str:
    """Last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _first(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _kinds(node: ast.AST) -> Iterator[str]:
    """Kinds of a node that are on the list."""
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
    func = ast.unparse(node.func)
    makes_paths = name in ("with_name", "with_stem", "with_suffix", "joinpath") or func == "os.path.join"
    if makes_paths and not _is_literal(first):
        yield "file name"
    if name in OPENING or (name == "open" and _writes(node)):
        yield "file written"
    if name in ("Markup", "Environment", "from_string"):
        yield "markup"
    if name in ("getattr", "setattr", "delattr") and len(node.args) > 1 and not _is_literal(node.args[1]):
        yield "name in a text"
    if name in BY_NAME and not _is_literal(first):
        yield "name in a text"
    if base == "re" and name in PATTERNS and not _is_literal(first):
        yield "pattern"
    is_of = isinstance(node.func, ast.Attribute) and not _is_literal(node.func.value)
    if name in ("format", "format_map") and is_of:
        yield "format"
    if name in ("strftime", "strptime") and not all(map(_is_literal, node.args)):
        yield "date format"
    is_loaded = name in ("load", "loads", "Unpickler") and base in READING
    if is_loaded or (base in ("ET", "etree") and name in ("parse", "fromstring", "iterparse", "XML")):
        yield "objects read"
    if base in ("subprocess", "webbrowser", "socket") or func in ("os.system", "os.popen", "os.startfile"):
        yield "program"
    if name == "print" or func in ("sys.stderr.write", "sys.stdout.write", "traceback.print_exception"):
        yield "printed"
    runs_sql = name in ("sql", "execute", "project", "selectExpr", "query", "expr") and isinstance(
        node.func, ast.Attribute
    )
    if runs_sql and not all(map(_is_literal, node.args)):
        yield "SQL"


def _writes(node: ast.Call) -> bool:
    given = [*node.args, *(k.value for k in node.keywords)]
    modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    flags = any(isinstance(one, ast.Name) and "flags" in one.id for one in node.args)
    return flags or any(re.fullmatch(r"[rbt]*[wax+][rbt+]*", mode) for mode in modes)


def found_in(source: str) -> list[tuple[str, str]]:
    """Places in a module: kind, and the expression or the method's name."""
    nodes = [*ast.walk(ast.parse(source))]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    owners = {id(inner): outer.name for outer in classes for inner in outer.body}

    def words(node: ast.AST) -> str:
        is_method = isinstance(node, ast.FunctionDef)
        return f"{owners.get(id(node), '')}.{node.name}" if is_method else ast.unparse(node)

    return [(kind, words(node)) for node in nodes for kind in _kinds(node)]


def found() -> dict[tuple[str, str], list[str]]:
    """Places in the whole package, by kind and module."""
    every: dict[tuple[str, str], list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for kind, words in found_in(path.read_text()):
            every.setdefault((kind, path.relative_to(PACKAGE).as_posix()), []).append(words)
    return every


LISTED = Path(__file__).with_name("hostile_scan.json")
SAFE = {
    "file name": "names of tables and files are checked (`extensions/verify/independent/file_reader.py`), or come from the user",
    "file written": "at paths that the user names, or inside a folder made for the files",
    "markup": "templates escape automatically",
    "name in a text": "names are from a closed list of the program, or fields of its own classes",
    "pattern": "patterns are the program's own, or their length is checked",
    "format": "formats are the program's own",
    "date format": "length and directives of date formats are checked",
    "objects read": "numbers without pickles, safe YAML, XML without entities",
    "program": "started with a list of arguments, none from a document",
    "SQL": "names are quoted; a query is the user's own, and no document can name one",
    "printed": "control characters are escaped",
    "shown": "control characters are escaped",
}
"""Why text of an untrusted document is harmless at the places of each kind."""


def test_every_place_is_listed() -> None:
    """Add a new place to the list once it is safe for the reason of its kind."""
    kinds = json.loads(LISTED.read_text("utf-8"))
    listed = {(kind, module): number for kind, modules in kinds.items() for module, number in modules.items()}
    seen = {place: len(words) for place, words in found().items()}
    assert {kind for kind, _ in listed} == {*SAFE}
    changed = {place: found()[place] for place, number in seen.items() if listed.get(place) != number}
    assert not changed, f"check these places, and write their numbers into {LISTED.name}: {changed}"
    assert not listed.keys() - seen.keys(), f"gone: remove them from {LISTED.name}"


def test_planted_places_are_seen() -> None:
    """One planted place of each kind."""
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
