"""Headless Chromium through chromedriver's plain HTTP interface (W3C WebDriver)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


class Browser:
    """One session; every answer is the protocol's ``value``."""

    def __init__(self, url: str, dark: bool = False) -> None:
        options = {"args": [*OPTIONS, *(["--force-dark-mode"] if dark else [])], "binary": _chromium()}
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._url = url
        found = _post(f"{url}/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"{url}/session/{found['sessionId']}"

    def open(self, page: Path) -> None:
        _post(f"{self._session}/url", {"url": page.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script's ``return`` gives."""
        return _post(f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, selector: str, keys: str) -> None:
        """Keys sent to the element that has, and gets, the focus."""
        found = _post(f"{self._session}/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        _post(f"{self._session}/element/{element}/value", {"text": keys})

    def click(self, selector: str) -> None:
        found = _post(f"{self._session}/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        _post(f"{self._session}/element/{element}/click", {})

    def console(self) -> list[str]:
        return [entry["message"] for entry in _post(f"{self._session}/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The address of everything that the page asked for, itself included."""
        events = [
            json.loads(entry["message"])["message"]
            for entry in _post(f"{self._session}/se/log", {"type": "performance"})
        ]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def resize(self, width: int, height: int) -> None:
        _post(f"{self._session}/window/rect", {"width": width, "height": height})

    def close(self) -> None:
        request = urllib.request.Request(self._session, method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()


@contextmanager
def browser(dark: bool = False) -> Iterator[Browser]:
    """A browser for the time of the block; skips the test where there is none."""
    driver = shutil.which("chromedriver")
    if driver is None or _chromium() is None:
        pytest.skip("chromium and chromedriver are not installed")
    process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        session = Browser(f"http://127.0.0.1:{_port(process)}", dark)
        try:
            yield session
        finally:
            session.close()
    finally:
        process.terminate()
        process.wait(30)


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"started successfully on port (\d+)", line)
        if found:
            return int(found[1])
    raise AssertionError("chromedriver did not start")


def _post(url: str, body: object) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["value"]
