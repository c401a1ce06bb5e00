"""The server as a program: on the loopback alone, without a log, gone when it is closed."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from reviewing import program, write_people
from uvicorn.protocols.http.h11_impl import H11Protocol

from sdv_plausible.commands.cli import main
from sdv_plausible.privacy.noise.coins import new_token
from sdv_plausible.web.serving.guard import Guard, Keys
from sdv_plausible.web.serving.server import LOOPBACK, MOST_CONNECTIONS, MOST_WAITING, OldestGoes, settings


def test_tokens_are_long_and_new():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(re.fullmatch(r"[\w-]{43}", token) for token in tokens)


def test_nothing_is_logged_and_no_proxy_is_believed():
    config = settings(Guard(None, Keys("t"), "h", print))
    assert (config.log_config, config.access_log, config.proxy_headers) == (None, False, False)


def test_the_program(tmp_path):
    write_people(tmp_path / "people.csv")
    with program(tmp_path) as (address, running):
        host, port = re.search(r"http://([\d.]+):(\d+)/", address).groups()
        assert host == LOOPBACK
        opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(), urllib.request.ProxyHandler({})
        )
        with opener.open(address) as page:
            text = page.read().decode()
            assert "token" not in page.url
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address.split("?")[0])
        with refused.value as answer:
            assert answer.code == 403
        form = f"token={re.search('name=.token. value=.(.+?).>', text)[1]}".encode()
        closing = urllib.request.Request(
            address.split("?")[0] + "close", form, {"Origin": f"http://{host}:{port}"}
        )
        with opener.open(closing) as page:
            assert b"Closed" in page.read()
        said = running.stdout.read()
        assert running.wait(20) == 0
    assert said.splitlines()[-1] == "Closed. domain.json is not written: nothing was saved."
    assert "GET" not in said
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=2).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


def answered(tmp_path, idle):
    """What the owner gets while so many connections are open and silent."""
    write_people(tmp_path / "people.csv")
    with program(tmp_path) as (address, _), ExitStack() as stack:
        host, port = re.search(r"http://([\d.]+):(\d+)/", address).groups()
        for _ in range(idle):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
        opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(), urllib.request.ProxyHandler({})
        )
        with opener.open(address, timeout=20) as page:
            return page.status


def test_silent_connections_do_not_keep_the_owner_out(tmp_path):
    assert answered(tmp_path, 250) == 200


def test_the_oldest_silent_connection_makes_room(monkeypatch):
    assert MOST_WAITING < MOST_CONNECTIONS
    kept = [SimpleNamespace(cycle=None, transport=Closes()) for _ in range(MOST_WAITING)]
    monkeypatch.setattr(OldestGoes, "waiting", list(kept))
    monkeypatch.setattr(H11Protocol, "connection_made", lambda *_: None)
    new = object.__new__(OldestGoes)
    new.cycle = None
    new.connection_made(None)
    assert kept[0].transport.closed
    assert not any(one.transport.closed for one in kept[1:])
    assert OldestGoes.waiting[-1] is new


class Closes:
    closed = False

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--private", "1"], "does not go with --private"),
        (["--from-codebook", "book.csv"], "is what --web would open"),
    ],
)
def test_what_does_not_go_with_it(tmp_path, monkeypatch, capsys, more, words):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    for name in ("domain.json", "book.csv"):
        (tmp_path / name).write_text("{}")
    assert main(["declare", "people.csv", "-o", "domain.json", "--web", *more]) == 2
    assert words in capsys.readouterr().err


def test_without_the_libraries(tmp_path, monkeypatch, capsys):
    write_people(tmp_path / "people.csv")
    monkeypatch.setattr("sdv_plausible.commands.declare.find_spec", lambda _: None)
    assert main(["declare", str(tmp_path / "people.csv"), "-o", str(tmp_path / "d.json"), "--web"]) == 2
    assert "sdv-plausible[app]" in capsys.readouterr().err
