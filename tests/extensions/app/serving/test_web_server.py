"""The server as a program: on the loopback alone, without a log, gone when it is closed."""

import asyncio
import re
import socket
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
import uvicorn
from reviewing import program, write_people
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sdv_plausible.cli.main import main
from sdv_plausible.extensions.app.serving.access_guard import AccessGuard, AccessKeys
from sdv_plausible.extensions.app.serving.server import (
    BODY_SECONDS,
    HEADER_SECONDS,
    LOOPBACK,
    MAX_CONNECTIONS,
    MIN_BYTES,
    MOST_WAITING,
    LimitedProtocol,
    settings,
)
from sdv_plausible.privacy.noise.keyed_rng import new_token


def test_tokens_are_long_and_new_nothing_is_logged_and_no_proxy_is_believed():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(re.fullmatch(r"[\w-]{43}", token) for token in tokens)
    config = settings(AccessGuard(None, AccessKeys("t"), "h", print))
    assert (config.log_config, config.access_log, config.proxy_headers) == (None, False, False)


def opened(address, *handlers):
    """What a browser gets, and the means to ask for more."""
    opener = urllib.request.build_opener(*handlers, urllib.request.ProxyHandler({}))
    return opener.open(address, timeout=20), opener


def test_the_program(tmp_path):
    write_people(tmp_path / "people.csv")
    with program(tmp_path) as (address, running):
        host, port = re.search(r"http://([\d.]+):(\d+)/", address).groups()
        assert host == LOOPBACK
        page, opener = opened(address, urllib.request.HTTPCookieProcessor())
        with page:
            text = page.read().decode()
            assert "token" not in page.url
        with pytest.raises(urllib.error.HTTPError) as refused:
            opened(address.split("?")[0])
        with refused.value as answer:
            assert answer.code == 403
        form = f"token={re.search('name=.token. value=.(.+?).>', text)[1]}".encode()
        origin, closing = {"Origin": f"http://{host}:{port}"}, address.split("?")[0] + "close"
        with opener.open(urllib.request.Request(closing, form, origin)) as page:
            assert b"Closed" in page.read()
        said = running.stdout.read()
        assert running.wait(20) == 0
    assert said.splitlines()[-1] == "Closed. domain.json is not written: nothing was saved."
    assert "GET" not in said
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=2).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


def test_silent_connections_do_not_keep_the_owner_out(tmp_path):
    write_people(tmp_path / "people.csv")
    with program(tmp_path) as (address, _), ExitStack() as stack:
        host, port = re.search(r"http://([\d.]+):(\d+)/", address).groups()
        for _ in range(250):  # open and silent
            stack.enter_context(socket.create_connection((host, int(port)), timeout=5))
        with opened(address, urllib.request.HTTPCookieProcessor())[0] as page:
            assert page.status == 200


def test_the_oldest_silent_connection_makes_room(monkeypatch):
    assert MOST_WAITING < MAX_CONNECTIONS
    kept = [SimpleNamespace(cycle=None, transport=Closes()) for _ in range(MOST_WAITING)]
    monkeypatch.setattr(LimitedProtocol, "waiting", list(kept))
    monkeypatch.setattr(H11Protocol, "connection_made", lambda *_: None)
    new = object.__new__(LimitedProtocol)
    new.cycle, new.loop = None, SimpleNamespace(call_later=lambda *_: None)
    new.connection_made(None)
    assert kept[0].transport.closed
    assert not any(one.transport.closed for one in kept[1:])
    assert LimitedProtocol.waiting[-1] is new


class Closes:
    closed = aborted = False

    def close(self):
        self.closed = True

    def abort(self):
        self.aborted = True

    def is_closing(self):
        return self.closed or self.aborted

    def get_extra_info(self, _):
        return None

    def write(self, _):
        """Nobody reads it."""

    pause_reading = resume_reading = lambda _: None


class Played:
    """A connection whose time is played: of what is awaited, ``over`` says that its seconds are over."""

    def __init__(self, app):
        self.of = LimitedProtocol(settings(app), ServerState(), {})
        self.of.loop, self.transport, self.deadlines = self, Closes(), []
        self.of.connection_made(self.transport)

    def call_later(self, seconds, act):
        handle = SimpleNamespace(seconds=seconds, act=act, runs=True)
        handle.cancel = lambda: setattr(handle, "runs", False)
        if act == self.of._drop_if_slow:  # not uvicorn's own, between two requests
            self.deadlines.append(handle)
        return handle

    def create_task(self, work, **more):
        return asyncio.get_running_loop().create_task(work, **more)

    async def send(self, text):
        self.of.data_received(text.encode())
        for _ in range(20):  # the application's turns
            await asyncio.sleep(0)

    @property
    def awaited(self):
        return [one for one in self.deadlines if one.runs]

    def over(self):
        (one,) = self.awaited
        one.runs = False
        one.act()
        return self.transport.aborted


HEADER = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n"


def application(*, reads=True, answers=True):
    async def app(scope, receive, send):
        more = reads
        while more:
            more = (await receive()).get("more_body", False)
        if answers:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body"})
        else:
            await asyncio.sleep(3600)

    return app


async def silent():
    one = Played(application())
    assert [deadline.seconds for deadline in one.awaited] == [HEADER_SECONDS]
    return one


async def a_byte_now_and_then():
    one = Played(application())
    (first,) = one.awaited
    for byte in HEADER:
        await one.send(byte)
    assert one.awaited == [first]  # no byte gives more time
    return one


async def half_a_second_header():
    one = Played(application())
    await one.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert one.awaited == []  # between two requests
    await one.send("GET /")
    assert [deadline.seconds for deadline in one.awaited] == [HEADER_SECONDS]
    return one


async def half_a_header_behind_a_request():
    one = Played(application())
    await one.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /")
    return one


async def a_slow_body():
    one = Played(application())
    await one.send(f"{HEADER}\r\n")
    for _ in range(3):
        await one.send("x" * MIN_BYTES)
        assert [deadline.seconds for deadline in one.awaited] == [BODY_SECONDS]
        assert not one.over()  # it came on
    await one.send("x" * (MIN_BYTES - 1))
    return one


async def a_body_that_nobody_wants():
    one = Played(application(reads=False))
    await one.send(f"{HEADER}\r\n")
    await one.send("x" * MIN_BYTES)
    return one


SLOW = (
    silent, a_byte_now_and_then, half_a_second_header, half_a_header_behind_a_request, a_slow_body,
    a_body_that_nobody_wants,
)  # fmt: skip


@pytest.mark.parametrize("play", SLOW)
def test_who_is_slow_is_dropped(play):
    async def ended():
        return (await play()).over()

    assert asyncio.run(ended())


async def answered_slowly():
    """A whole request is not hurried, however long its answer takes."""
    one = Played(application(answers=False))
    await one.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    return one.awaited == []


async def not_read_by_us():
    """Of a body that waits for the application, the sender is not to blame."""
    one = Played(application(reads=False, answers=False))
    await one.send(f"{HEADER}\r\n")
    await one.send("x" * (MIN_BYTES + 1))
    one.over()
    return not one.over()


@pytest.mark.parametrize("play", [answered_slowly, not_read_by_us])
def test_who_is_not_slow_is_kept(play):
    assert asyncio.run(play())


def test_nothing_is_awaited_of_a_connection_that_is_gone():
    async def left():
        one = await silent()
        one.of.connection_lost(None)
        return one.awaited

    assert asyncio.run(left()) == []


def test_the_server_drops_half_a_header(monkeypatch):
    monkeypatch.setattr(LimitedProtocol, "header_seconds", 0.05)
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        listening.listen()
        server = uvicorn.Server(settings(application()))
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        running.start()
        try:
            with socket.create_connection(listening.getsockname(), timeout=60) as client:
                client.sendall(HEADER.encode())
                assert client.recv(100) == b""
        finally:
            server.should_exit = True
            running.join()


def test_what_does_not_go_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    for name in ("domain.json", "book.csv"):
        (tmp_path / name).write_text("{}")

    def refused(*told):
        assert main(["declare", "people.csv", "--web", "-o", *told]) == 2
        return capsys.readouterr().err

    assert "does not go with --private" in refused("domain.json", "--private", "1")
    assert "is what --web would open" in refused("domain.json", "--from-codebook", "book.csv")
    monkeypatch.setattr("sdv_plausible.extensions.app.review.review_command.find_spec", lambda _: None)
    assert "sdv-plausible[app]" in refused("d.json")  # without the libraries
