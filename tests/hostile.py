"""Strings that a stranger puts into a file: bad names of tables, and texts that attack whatever shows or runs them."""

from __future__ import annotations

TABLE_NAMES: tuple[str, ...] = (
    "", " ", "/etc/people", "../../victim/people", "a/b", "..\\victim", "C:people", "C:\\victim\\people",
    "people:stream", "..", ".hidden", "-rf", "~root", "people.", "people ", " people", "\u00a0people", "CON", "nul",
    "NUL.txt", "Aux .csv", "com1.people", "LPT9", "COM\u00b9", "conin$", "people\x00", "people\n", "people\x1b[2J",
    "people\x7f", "people\x85", "people\u2028x", "people\u202ecsv", "people\u200b", "\ufeffpeople", "people\ud800",
    'people"', "people*", "people?", "<people>", "people|sh", "x" * 241, "\u00e9" * 121,
    # compatibility forms: some systems read them as the plain characters
    "..\uff0fpeople", "\uff0e\uff0epeople", "\u2100people", "\uff23\uff2f\uff2e",
)  # fmt: skip
"""Names that no file may have on some system, or that lead to another folder."""

COLLIDING: tuple[tuple[str, str], ...] = (
    ("people", "People"), ("stra\u00dfe", "STRASSE"), ("caf\u00e9", "cafe\u0301"), ("people", "\uff50eople"),
    ("\u03c3", "\u03c2"),
)  # fmt: skip
"""Two names that some file system takes for one."""

ORDINARY_NAMES: tuple[str, ...] = (
    "people", "dbo.people", "Census 2020 (10 %)", "people-2021_v1.2", "#temp", "$sheet", "[order]", "\u4eba\u53e3",
    "\u00c9tudes", "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627", "O'Neill & sons", "console", "com10", "nullable", "a..b", "x" * 240,
)  # fmt: skip
"""Names that tables have, and may have."""

TEXTS: dict[str, str] = {
    "a path": "../victim/people",
    "an absolute path": "/nowhere/people",
    "a path of Windows": "..\\victim\\people",
    "a script": "<script>alert(1)</script>",
    "an attribute": "\" onload=alert(1) x='",
    "the end of an element": "--></title></style></textarea></pre><img src=x onerror=alert(1)>",
    "an entity": "&lt;b&gt; &#60;i&#62;",
    "escapes of a terminal": "\x1b[2J\x1b]0;title\x07\x1b[31m",
    "controls of eight bits": "\x9b2J\x85\x90",
    "a line of its own": "a\r\nTotal epsilon 0.001 at delta 1e-09.\n\n| a | b |",
    "nothing": "a\x00b",
    "from right to left": "\u202egnp.exe\u2066",
    "separators of lines": "a\u2028b\u2029c",
    "a long one": "x" * 900,
    "an import": "__import__('os').system('touch PWNED')",
    "a module": "no_such_hostile_module",
    "an attribute of classes": "__class__",
    "a format string": "{0.__class__} {name} {} {:>99999999}",
    "another format string": "%s %(x)s %99999999d %n",
    "a template": "{{ 7919 * 7907 }}{% for x in y %}{# x #}",
    "a pattern": "(a+)+$",
    "a shell": "$(touch PWNED); `touch PWNED` | sh && > PWNED",
    "SQL": "x\"; DROP TABLE t; --'",
    "a formula": '=HYPERLINK("http://nowhere")',
    "YAML": "!!python/object/apply:os.system [touch PWNED]",
    "JSON": '", "epsilon": 0, "x": "',
    "Markdown": "](javascript:alert(1)) ![x](http://nowhere) | ` ** <b>",
}
"""Texts that attack what a text may reach: a path, a page, a terminal, a pattern, a format, an import, a shell."""
TOGETHER = ("a script", "an attribute", "the end of an element", "a shell", "SQL", "JSON", "Markdown")
"""Those that may stand anywhere in a text, and hold what names of files may not: what takes one of them takes all."""
TEXTS["all of them"] = "".join(text for name, text in TEXTS.items() if name != "a long one")
TEXTS["marks of every kind"] = "".join(TEXTS[name] for name in TOGETHER)
