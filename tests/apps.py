"""The app for tests: in this process without a socket, with a fit that is played or real."""

from __future__ import annotations

import re
import threading
from multiprocessing import Pipe

from reviewing import HOST
from starlette.testclient import TestClient

from sdv_plausible.extensions.app.pages.app_pages import AppPages
from sdv_plausible.extensions.app.pages.background_fit import RunningFit, run
from sdv_plausible.extensions.app.pages.browser_access import BrowserAccess
from sdv_plausible.extensions.app.serving.access_guard import AccessKeys
from sdv_plausible.privacy.noise.keyed_rng import new_token

KEYS = AccessKeys("t" * 43)
HOME = f"/{KEYS.place}/"
ORIGIN = {"origin": f"http://{HOST}"}
MOST_BYTES = 1_000_000


class Thread(threading.Thread):
    """A fit in a thread, which cannot be ended."""

    def terminate(self):
        """Let it run."""

    def kill(self):
        """Let it run."""


def start_thread(order, folder):
    """As ``start_process`` does, in this process; the main thread alone may set signals, so none is set."""
    heard, told = Pipe(duplex=False)

    def work():
        run(order, folder, told)
        told.close()

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread, heard


class Place:
    """The app of one program, and its browsers."""

    def __init__(self, sessions, guard=BrowserAccess, start=start_thread):
        self.sessions, self.closed, self.errors = sessions, [], []
        app = AppPages(KEYS.place, sessions, lambda: self.closed.append(True))
        app.fitting = lambda order, folder: RunningFit(order, folder, start)
        self.app = guard(
            app.application(), KEYS, HOST, self.errors.append, sessions=sessions, most_bytes=MOST_BYTES
        )

    def browser(self, *, enter=True):
        """A new browser."""
        return Browser(self, enter)


class Browser:
    """Fills in forms from what the pages show."""

    def __init__(self, place, enter):
        self.client = TestClient(place.app, base_url=f"http://{HOST}")
        self.place = place
        if enter:
            self.get("", token=KEYS.token)

    def get(self, page, **query):
        return self.client.get(HOME + page, params=query)

    @property
    def session(self):
        return self.place.sessions.find(self.client.cookies["sdv-plausible"])

    def token(self):
        return re.search(r'name="token" value="(\w+)"', self.get("").text)[1]

    def post(self, page, **fields):
        """Send a form, with the token of the page."""
        return self.client.post(HOME + page, data={"token": self.token(), **fields}, headers=ORIGIN)

    def open(self, name="people.csv", content=b"", **more):
        """Upload a table, and what else is given as ``domain=(name, content)`` or as text."""
        files = {"table": (name, content)} if name else {}
        files |= {key: value for key, value in more.items() if isinstance(value, tuple)}
        texts = {key: value for key, value in more.items() if isinstance(value, str)}
        files = files or {"nothing": ("", b"")}
        data = {"token": self.token(), **texts}
        return self.client.post(HOME + "open", data=data, files=files, headers=ORIGIN)

    def keep_columns(self, button="next", **edits):
        version = re.search(r'name="version" value="(\w+)"', self.get("columns/").text)[1]
        return self.post(f"columns/{button}", version=version, **edits)


__all__ = ["HOME", "KEYS", "ORIGIN", "Place", "new_token"]
