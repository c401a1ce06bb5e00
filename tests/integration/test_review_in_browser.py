"""The review page in a real browser, from a template to a release: wide, as narrow as a phone, by keyboard alone."""

from __future__ import annotations

import json
import warnings

import pytest
from reviewing import (
    COLUMNS,
    browser,
    find,
    fits,
    load_by,
    needs_browser,
    press_keys,
    program,
    tab_to,
    write_people,
)
from sentences import total

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, read_csv
from sdv_plausible.extensions.app.forms import GRID, MORE_FIELDS, field_texts
from sdv_plausible.table.declared.domain_file import read_domain_file

pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
pytestmark = needs_browser

CHOICES = ("sdtype", "range_is_nullable")
COMPARE, SAVE = "button[formaction$=compare]", "button.main"


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path / "people.csv")
    return tmp_path


def fill_in(driver):
    from selenium.webdriver.support.select import Select

    for number, name in enumerate(COLUMNS):
        for word, text in field_texts(COLUMNS[name]).items():
            field = find(driver, f"#c{number}-{word}") if text else None
            if text and not field.is_displayed():
                find(driver, f"#column-{number} summary").click()
            if text and word in CHOICES:
                Select(field).select_by_visible_text(text)
            elif text:
                field.send_keys(text)


def is_sound(driver):
    """Nothing sticks out, scrolls sideways, lacks a name, or comes from elsewhere."""
    fits(driver, "button, input, select, textarea")
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(name.startswith(driver.current_url.split("?")[0].rsplit("/", 1)[0]) for name in loaded), loaded
    assert [line for line in driver.get_log("browser") if "status of 422" not in line["message"]] == []


def release_from(folder):
    """A fit with the saved file, and rows of a release."""
    domain = folder / "domain.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, epsilon=1.0)
        synth.fit(read_csv(folder / "people.csv", domain))
    return synth, synth.sample(50)


def test_from_a_template_to_a_release(folder):
    with program(folder) as (address, running), browser(folder, 1280) as driver:
        driver.get(address)
        assert "token" not in driver.current_url
        is_sound(driver)
        fill_in(driver)
        find(driver, "#c1-range_max").send_keys("x")
        load_by(driver, find(driver, SAVE).click)
        assert not (folder / "domain.json").exists()
        assert driver.switch_to.active_element.get_attribute("id") == "told"
        wrong = find(driver, "#c1-range_max")
        refusal = wrong.get_attribute("aria-describedby").split()[-1]
        assert "finite number" in find(driver, f"#{refusal}").text
        is_sound(driver)
        find(driver, "#c1-range_max").clear()
        find(driver, "#c1-range_max").send_keys("80")
        load_by(driver, find(driver, SAVE).click)
        assert read_domain_file(folder / "domain.json").columns == COLUMNS
        find(driver, "#rows").send_keys("300")
        load_by(driver, find(driver, "#plan-button").click)
        assert "about 300 rows" in find(driver, "#plan").text
        is_sound(driver)
        load_by(driver, find(driver, COMPARE).click)
        assert "'Basel'" in find(driver, "#column-3").text
        is_sound(driver)
        load_by(driver, find(driver, "#close").click)
        assert running.wait(30) == 0
    assert set(read_domain_file(folder / "domain.json").looked) == {"age", "sex", "town", "day"}
    synth, rows = release_from(folder)
    assert set(rows["town"].dropna()) <= {"Bern", "Chur"}
    assert rows["age"].max() <= 80
    assert total(1) in str(synth.privacy_ledger())


@pytest.mark.slow
def test_with_the_keyboard_only(folder):
    from selenium.webdriver import ActionChains, Keys

    with program(folder) as (address, running), browser(folder, 390) as driver:
        driver.get(address)
        is_sound(driver)

        def press(*keys):
            press_keys(driver, *keys)

        def go_to(selector):
            tab_to(driver, selector)

        for number, name in enumerate(COLUMNS):
            texts = field_texts(COLUMNS[name])
            for word in [field.word for field in (*GRID.values(), *MORE_FIELDS) if texts[field.word]]:
                if word not in GRID:
                    go_to(f"#column-{number} summary")
                    press(Keys.SPACE)
                go_to(f"#c{number}-{word}")
                press(texts[word])
        go_to(SAVE)
        load_by(driver, lambda: press(Keys.SPACE))
        assert read_domain_file(folder / "domain.json").columns == COLUMNS
        go_to(COMPARE)
        load_by(driver, lambda: press(Keys.ENTER))
        assert driver.switch_to.active_element.get_attribute("id") == "look-heading"
        is_sound(driver)
        go_to("#c3-range_values")
        ActionChains(driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).perform()
        press(Keys.ENTER, "Basel")
        go_to("#rows")
        press("300")
        load_by(driver, lambda: press(Keys.ENTER))
        assert "about 300 rows" in find(driver, "#plan").text
        is_sound(driver)
        go_to(SAVE)
        load_by(driver, lambda: press(Keys.ENTER))
        assert "No claim: town was edited" in find(driver, "main").text
        go_to("#close")
        load_by(driver, lambda: press(Keys.ENTER))
        assert running.wait(30) == 0
    document = json.loads((folder / "domain.json").read_text())
    assert document["columns"]["town"]["range_values"] == ["Bern", "Chur", "Basel"]
    assert read_domain_file(folder / "domain.json").edited == ("town",)
    assert "no differential privacy guarantee" in str(release_from(folder)[0].privacy_ledger()).lower()
