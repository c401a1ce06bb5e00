"""Who is let in, and to what: the token, forms of one's own page, one's own table; and planted faults."""

import pytest
from apps import HOME, KEYS, MOST_BYTES, ORIGIN, Place

from sdv_plausible.extensions.app.pages.browser_access import OUR_HEADERS, SESSION, BrowserAccess
from sdv_plausible.extensions.app.serving.access_guard import COOKIE

TABLE = b"town,age\nBern,31\nChur,47\n"
FILES = ("files/rows", "files/domain")
PAGES = ("", "columns/", "rules", "budget", "fit", "result", "progress", *FILES, "app.js")
POSTS = (
    "open",
    "columns/codebook",
    "columns/save",
    "rules",
    "plan",
    "planned",
    "begin",
    "cancel",
    "forget",
    "close",
)
TAKING_FILES = ("open", "columns/codebook")


def without_token(place):
    browser = place.browser(enter=False)
    for page in PAGES:
        assert browser.get(page).status_code == 403, page
    for token in ("", "t", KEYS.cookie, KEYS.form):
        answer = browser.get("", token=token)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    browser.client.cookies.set(COOKIE, KEYS.cookie)  # of a review page with this token
    for page in POSTS:
        assert browser.client.post(HOME + page, data={"token": KEYS.form}, headers=ORIGIN).status_code == 403
    assert not len(place.sessions)


def another_sessions_table(place):
    mine, other = place.browser(), place.browser()
    mine.open(content=TABLE)
    mine.keep_columns(**{"c0-sdtype": "categorical", "c0-range_values": "Bern"})
    assert "town" in mine.get("columns/").text
    assert mine.get("files/domain").status_code == 200
    for page in PAGES:
        assert "Bern" not in other.get(page).text
        assert "people.csv" not in other.get(page).text
    assert other.get("columns/").url.path == HOME
    assert other.get("files/domain").status_code == 404


def from_another_page(place):
    browser, other = place.browser(), place.browser()
    browser.open(content=TABLE)
    before = browser.session.review
    for token in ("", KEYS.form, KEYS.token, other.token()):
        for page in POSTS:
            data = {"token": token, "path": __file__}
            files = {"table": ("t.csv", b"a,b\n1,2\n")} if page in TAKING_FILES else None
            answer = browser.client.post(HOME + page, data=data, files=files, headers=ORIGIN)
            assert answer.status_code == 403, page
    for origin in ({}, {"origin": "null"}, {"origin": "http://evil.example"}):
        for page in POSTS:
            form = {"token": browser.token()}
            assert browser.client.post(HOME + page, data=form, headers=origin).status_code == 403
    assert browser.session.review is before


def files_to_another_place(place):
    """Files are taken by the page that asks for them alone: elsewhere nothing is read of them."""
    browser = place.browser()
    for page in set(POSTS) - set(TAKING_FILES):
        files, form = {"table": ("t.csv", b"a,b\n1,2\n")}, {"token": browser.token()}
        answer = browser.client.post(HOME + page, data=form, files=files, headers=ORIGIN)
        assert (answer.status_code, answer.text) == (415, "Only forms are taken."), page


def too_large(place):
    browser = place.browser()
    answer = browser.open(content=b"a" * (MOST_BYTES + 1))
    assert answer.status_code == 413
    assert "give its path" in answer.text
    kind = {**ORIGIN, "content-type": "multipart/form-data; boundary=x"}
    parts = iter([b'--x\r\nContent-Disposition: form-data; name="table"; filename="t.csv"\r\n\r\n'])
    long = (part for source in (parts, (b"a" * 100_000 for _ in range(20))) for part in source)
    assert browser.client.post(HOME + "open", content=long, headers=kind).status_code == 413
    assert browser.session.review is None
    assert list(browser.session.folder.iterdir()) == []


def test_refused(place):
    without_token(place)
    another_sessions_table(place)
    from_another_page(place)
    files_to_another_place(place)
    too_large(place)


class NoToken(BrowserAccess):
    def _form_secret(self, request):
        found = super()._form_secret(request)
        if found is None:
            request.scope[SESSION] = self.sessions.begin()
            return request.scope[SESSION].keys.form
        return found


class OneForAll(BrowserAccess):
    def _enter(self, request):
        return self.sessions._all[0].keys.cookie if len(self.sessions) else super()._enter(request)


class NoFormToken(BrowserAccess):
    def _form_refusal(self, body, secret):
        return None


class NoLimit(BrowserAccess):
    async def _read(self, request):
        self.most_bytes = 10**9
        return await super()._read(request)


class FilesAnywhere(BrowserAccess):
    async def _read(self, request):
        request.scope["path"] = f"{HOME}open"
        return await super()._read(request)


@pytest.mark.parametrize(
    ("guard", "check"),
    [
        (FilesAnywhere, files_to_another_place),
        (NoToken, without_token),
        (OneForAll, another_sessions_table),
        (NoFormToken, from_another_page),
        (NoLimit, too_large),
    ],
)
def test_a_planted_guard_that_lets_in_is_caught(sessions, guard, check):
    with pytest.raises(AssertionError):
        check(Place(sessions, guard))


def test_an_upload_needs_the_forms_token_too(place, monkeypatch):
    monkeypatch.setattr("sdv_plausible.extensions.app.pages.browser_access.is_same", lambda *_: True)
    with pytest.raises(AssertionError):
        from_another_page(place)


def test_every_answer_has_the_headers(place):
    browser = place.browser()
    for page in (*PAGES, "nothing"):
        answer = browser.get(page)
        assert {name: answer.headers[name] for name in OUR_HEADERS} == OUR_HEADERS


def test_one_browser_comes_back_to_its_work_and_there_are_not_too_many(place):
    browser = place.browser()
    first = browser.session
    browser.get("", token=KEYS.token)
    assert browser.session is first
    for _ in range(7):
        place.browser()
    late = place.browser(enter=False)
    assert late.get("", token=KEYS.token).status_code == 503
    assert len(place.sessions) == 8
