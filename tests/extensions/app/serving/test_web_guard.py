"""Who is let in: the token, the host, the origin, small forms; and planted guards that leave one out."""

import re

import pytest
from reviewing import COLUMNS, HOST, write_people
from starlette.testclient import TestClient

from sdv_plausible.extensions.app.review.review import Review, ReviewedTable
from sdv_plausible.extensions.app.review.review_command import plan_of
from sdv_plausible.extensions.app.review.review_pages import ReviewPages
from sdv_plausible.extensions.app.serving import access_guard as module
from sdv_plausible.extensions.app.serving.access_guard import (
    HEADERS,
    MOST_BYTES,
    AccessGuard,
    AccessKeys,
    is_same,
    parse_form,
)
from sdv_plausible.table.declared.domain_file import draft_domain_file, read_domain_file

KEYS = AccessKeys("t" * 43)
HOME = f"/{KEYS.place}/"
ORIGIN = {"origin": f"http://{HOST}"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "domain.json"


@pytest.fixture
def make(tmp_path, output):
    """A client before the page, with or without the way in."""
    table = ReviewedTable(write_people(tmp_path / "people.csv", 20), tuple(COLUMNS), {"encoding": "utf-8"})

    def made(guard=AccessGuard, *, enter=True):
        review = Review(draft_domain_file(table.names, COLUMNS), table, output, plan_of, is_saved=False)
        app = guard(ReviewPages(review, KEYS, lambda: None).application(), KEYS, HOST, lambda _: None)
        client = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
        if enter:
            client.get(HOME, params={"token": KEYS.token})
        return client

    return made


def fields(client):
    text = client.get(HOME).text
    return {"token": KEYS.form, "version": re.search(r'name="version" value="(\w+)"', text)[1]}


def without_cookie(make):
    client = make(enter=False)
    for path in (HOME, "/", "/favicon.ico", f"{HOME}style.css", f"{HOME}nothing"):
        assert client.get(path).status_code == 403
    assert client.post(f"{HOME}save", data={"token": KEYS.form}, headers=ORIGIN).status_code == 403
    client.cookies.set(module.COOKIE, "0" * 64)
    assert client.get(HOME).status_code == 403


def with_a_wrong_token(make):
    client = make(enter=False)
    for token in ("", "t", KEYS.token[:-1] + "u", KEYS.cookie, KEYS.form, "ä"):
        answer = client.get(HOME, params={"token": token})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def with_another_host(make):
    client = make()
    for host in ("evil.example:4711", "localhost:4711", "127.0.0.1", "127.0.0.1:4712", ""):
        assert client.get(HOME, headers={"host": host}).status_code == 421
        answer = client.get(HOME, params={"token": KEYS.token}, headers={"host": host})
        assert "set-cookie" not in answer.headers


def from_another_page(make, output):
    client = make()
    form = fields(client)
    for origin in ("null", "http://evil.example", "http://127.0.0.1:80", None):
        headers = {} if origin is None else {"origin": origin}
        assert client.post(f"{HOME}save", data=form, headers=headers).status_code == 403
    assert not output.exists()


def without_the_forms_token(make, output):
    client = make()
    form = fields(client)
    for token in ("", KEYS.token, KEYS.cookie):
        assert client.post(f"{HOME}save", data={**form, "token": token}, headers=ORIGIN).status_code == 403
    assert not output.exists()


def too_large(make, output):
    client = make()
    form = {**fields(client), "c0-source": "x" * MOST_BYTES}
    assert client.post(f"{HOME}save", data=form, headers=ORIGIN).status_code == 413
    kind = {**ORIGIN, "content-type": "application/x-www-form-urlencoded"}
    parts = iter([b"a=" + b"x" * MOST_BYTES])  # without a Content-Length
    assert client.post(f"{HOME}save", content=parts, headers=kind).status_code == 413
    many = "&".join(f"a{i}=" for i in range(module.MAX_FIELDS + 1))
    assert client.post(f"{HOME}save", content=many, headers=kind).status_code == 400
    assert not output.exists()


def test_refused(make, output):
    without_cookie(make)
    with_a_wrong_token(make)
    with_another_host(make)
    from_another_page(make, output)
    without_the_forms_token(make, output)
    too_large(make, output)


def test_let_in(make, output):
    client = make(enter=False)
    answer = client.get(HOME, params={"token": KEYS.token})
    assert (answer.status_code, answer.headers["location"]) == (303, HOME)
    cookie = answer.headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", f"path={HOME}"):
        assert part in cookie
    assert [part for part in ("max-age", "expires") if part in cookie] == []
    assert client.get(HOME).status_code == 200
    assert client.post(f"{HOME}save", data=fields(client), headers=ORIGIN).status_code == 303
    assert read_domain_file(output).columns == COLUMNS  # a field that is not sent stays


class NoToken(AccessGuard):
    def _refusal(self, request):
        refused = super()._refusal(request)
        return None if refused is not None and refused.status_code == 403 else refused


class NoHost(AccessGuard):
    def _refusal(self, request):
        self.host = request.headers.get("host", "")
        return super()._refusal(request)


class NoFormToken(AccessGuard):
    def _form_refusal(self, body, secret):
        return None


@pytest.mark.parametrize(
    ("guard", "check"),
    [
        (NoToken, without_cookie),
        (NoHost, with_another_host),
        (NoToken, from_another_page),
        (NoFormToken, without_the_forms_token),
    ],
)
def test_a_planted_guard_that_lets_in_is_caught(make, output, guard, check):
    def planted(_=AccessGuard, *, enter=True):
        return make(guard, enter=enter)

    with pytest.raises(AssertionError):
        check(*[planted, output][: check.__code__.co_argcount])


def test_a_planted_cookie_of_any_value_is_caught(make, monkeypatch):
    monkeypatch.setattr(module, "is_same", lambda *_: True)
    for check in (without_cookie, with_a_wrong_token):
        with pytest.raises(AssertionError):
            check(make)


def test_a_planted_limit_is_caught(make, output, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10 * MOST_BYTES)
    with pytest.raises(AssertionError):
        too_large(make, output)


def test_secrets_of_one_token_differ_and_are_compared_in_constant_time(monkeypatch):
    assert len({KEYS.token, KEYS.place, KEYS.cookie, KEYS.form}) == 4
    assert AccessKeys("u").cookie != AccessKeys("v").cookie
    asked = []
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: asked.append((a, b)) or False)
    assert not is_same("ä", "b")
    assert asked == [("ä".encode(), b"b")]


def test_every_answer_has_the_headers(make):
    same = {f"cross-origin-{part}-policy": "same-origin" for part in ("opener", "resource")}
    for path in (HOME, f"{HOME}style.css", f"{HOME}review.js", f"{HOME}nothing", "/"):
        headers = make().get(path).headers
        expected = {**HEADERS, **same, "x-frame-options": "DENY", "cache-control": "no-store"}
        assert {name: headers[name.lower()] for name in expected} == expected


def test_other_methods_and_kinds_of_body(make):
    client = make()
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"):
        assert client.request(method, HOME).status_code == 405
    assert client.post(f"{HOME}save", json={}, headers=ORIGIN).status_code == 415
    files = {"token": ("a", b"x")}
    assert client.post(f"{HOME}save", files=files, headers=ORIGIN).status_code == 415
    assert client.get(f"{HOME}save").status_code == 405

    for body in (b"a=1&a=2", b"a=%ff", b"\xff", b"a"):  # that are no form
        with pytest.raises(ValueError):  # noqa: PT011
            parse_form(body)


def test_an_error_goes_into_no_answer(make):
    told = []

    async def broken(scope, receive, send):
        raise KeyError("Basel")

    app = AccessGuard(broken, KEYS, HOST, told.append)
    client = TestClient(app, base_url=f"http://{HOST}", cookies={module.COOKIE: KEYS.cookie})
    answer = client.get(HOME)
    assert answer.status_code == 500
    assert "Basel" not in answer.text
    assert isinstance(told[0], KeyError)


def test_connections_that_are_refused_are_closed(make):
    """Kept alive, those of any user of the machine would keep the owner out."""
    client = make(enter=False)
    for path, headers in ((HOME, {}), (f"{HOME}?token=wrong", {}), (HOME, {"host": "elsewhere"})):
        answer = client.get(path, headers=headers)
        assert answer.status_code in (403, 421)
        assert answer.headers["connection"] == "close"
    entered = make()
    assert "connection" not in entered.get(HOME).headers
    assert entered.post(HOME, headers={"origin": "http://elsewhere"}).headers["connection"] == "close"
