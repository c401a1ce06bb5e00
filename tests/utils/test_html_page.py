"""The templates: everything they are given is escaped, wherever it comes from, and there is no way around it.

Every ``{{ ... }}`` of every template is planted unescaped, one after the other: the check must find each.
"""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest
from jinja2 import ChoiceLoader, DictLoader, TemplateAssertionError, UndefinedError
from markupsafe import Markup, escape

import sdv_plausible
import sdv_plausible.evaluation.page.inspection
import sdv_plausible.extensions.audit.auditing
from sdv_plausible.evaluation.page.charts import SvgDrawing
from sdv_plausible.evaluation.page.sections import DistanceSection, GuaranteeSection
from sdv_plausible.privacy.ledger_record import LedgerText
from sdv_plausible.utils import html_templates
from sdv_plausible.utils.html_templates import HtmlPage, PageSection

HOSTILE = "\"'><planted on=1>&amp;{{ 1 // 0 }}{% endfor %}</script>"
ROOMS = ("sdv_plausible.evaluation.page", "sdv_plausible.privacy", "sdv_plausible.extensions.audit")
environment = partial(html_templates.environment, *ROOMS, "sdv_plausible", keep_trailing_newline=True)
NOTEBOOKS = "fragment.html"
TEMPLATES = [n for n in environment().list_templates() if n.endswith(".html") and n != NOTEBOOKS]
NO_TEXT = re.compile(
    r"""
    .*\|(percent|count|decimals)                  # a number, written by a filter
    | .*"%\.3g"\|format\(entry\.epsilon\)
    | (section|figure)\.picture                   # markup by right: made by Drawing
    | (grid|key|shares)\(.*\)                    # macros, whose own variables are planted
    | ""\ if\ section\.claimed\ else\ "\ none"   # one of two texts of the template's own
    """,
    re.X,
)


def hostile(kind):
    """A value of a type, with hostile text wherever there is text."""
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: hostile(hints[field.name]) for field in dataclasses.fields(kind)})
    if get_origin(kind) is tuple:
        inner = [one for one in get_args(kind) if one is not Ellipsis]
        return tuple(hostile(one) for one in inner) * (2 if Ellipsis in get_args(kind) else 1)
    if kind is Markup:
        return SvgDrawing(1, 1, HOSTILE).svg()
    return {str: HOSTILE, int: 1500, float: 0.25, bool: True}[kind]


def sections():
    entry = dict.fromkeys(("name", "mechanism", "cost", "scope", "provenance", "note"), HOSTILE)
    known = {"not_covered": (HOSTILE,), "claimed": True, "covers_structure": False}
    guarantee = GuaranteeSection(words=hostile(LedgerText), entries=(entry,), **known)
    others = [hostile(kind) for kind in PageSection.__subclasses__() if kind is not GuaranteeSection]
    (distances,) = [one for one in others if isinstance(one, DistanceSection)]
    return (guarantee, *others, dataclasses.replace(distances, pairs_error=""))


def page(templates=None):
    """The page of all sections, from the package's templates or from others."""
    texts = dict.fromkeys(("title", "heading", "date", "kind", "banner"), HOSTILE)
    shown = HtmlPage(template_packages=ROOMS, sections=sections(), **texts)
    with pytest.MonkeyPatch.context() as patch:
        if templates is not None:
            patch.setattr(html_templates, "environment", lambda *_, **__: templates)
        return shown.html()


def variables(name):
    """Place and words of every ``{{ ... }}`` of a template that writes text."""
    source = environment().loader.get_source(environment(), name)[0]
    found = ((match.span(), match.group(1).strip()) for match in re.finditer(r"\{\{(.*?)\}\}", source, re.S))
    own = {("parts.html", "kind")}  # a class of the style sheet, given by a template
    return [(at, words) for at, words in found if not NO_TEXT.fullmatch(words) and (name, words) not in own]


VARIABLES = [(name, span, words) for name in TEMPLATES for span, words in variables(name)]


def test_every_template_is_on_the_page_and_hostile_text_nowhere_markup():
    loader, seen = environment().loader, set()

    class Watched(ChoiceLoader):
        def load(self, environment, name, globals=None):
            seen.add(name)
            return super().load(environment, name, globals)

    watched = page(environment().overlay(loader=Watched(loader.loaders), cache_size=0))
    assert seen == {*TEMPLATES, "style.css"}
    for text in (watched, page()):
        assert "<planted" not in text
        assert text.count(str(escape(HOSTILE))) > len(VARIABLES)


@pytest.mark.parametrize(
    ("name", "span", "words"), VARIABLES, ids=[f"{name} {words}" for name, _, words in VARIABLES]
)
def test_each_variable_planted_unescaped_is_found(name, span, words):
    source = environment().loader.get_source(environment(), name)[0]
    planted = f"{{% autoescape false %}}{{{{ {words} }}}}{{% endautoescape %}}"
    loader = DictLoader({name: source[: span[0]] + planted + source[span[1] :]})
    others = environment().overlay(loader=ChoiceLoader([loader, environment().loader]), cache_size=99)
    assert "<planted" in page(others)


def test_no_template_can_mark_text_as_safe():
    with pytest.raises(TemplateAssertionError, match="No filter named 'safe'"):
        environment().from_string("{{ text|safe }}")
    for name in TEMPLATES:
        assert "autoescape" not in environment().loader.get_source(environment(), name)[0]
    assert environment().autoescape is True
    with pytest.raises(UndefinedError, match="'section' is undefined"):  # a forgotten value is an error
        environment().get_template("heading.html").render()


def test_markup_is_made_in_one_module():
    paths, markup = Path(sdv_plausible.__file__).parent.rglob("*.py"), r"Markup\(|html\.escape|\|\s*safe"
    assert {path.name for path in paths if re.search(markup, path.read_text("utf-8"))} == {"charts.py"}
