"""The Dockerfile's commands, run as the scripts they are: no Docker engine needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.service import ROOT, service, until

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instruction(name: str) -> list[str]:
    """The arguments of the last exec-form instruction of that name."""
    found = re.findall(rf"^\s*{name} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    arguments: list[str] = json.loads(found[-1])
    return arguments


def test_the_image_runs_as_a_user_on_a_volume() -> None:
    assert re.search(r"^USER (?!0$)\d+$", DOCKERFILE, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", DOCKERFILE, re.MULTILINE)
    assert instruction("ENTRYPOINT") == ["corp"]


def test_it_copies_every_package_that_the_command_imports() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    assert copied == {"verify", "population", "corp", "server"}


@pytest.mark.slow
def test_its_command_serves_and_its_health_check_tells_when_it_does_not(tmp_path: Path) -> None:
    command = instruction("CMD")[:-2]
    assert instruction("CMD")[-2:] == ["--data", "/data"]
    command[command.index("8000")] = "0"
    with service(tmp_path, ("-m", "server.command", *command, "--json")) as running:
        check = [part.replace("8000", running.url.rpartition(":")[2]) for part in healthcheck()]
        until(lambda: subprocess.run(check, check=False, capture_output=True).returncode == 0)
        running.stop()
        assert subprocess.run(check, check=False, capture_output=True).returncode == 1


def healthcheck() -> list[str]:
    found = re.search(r"^HEALTHCHECK .*\\\n\s*CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found is not None
    command: list[str] = json.loads(found[1])
    assert command[0] == "python"
    return [sys.executable, *command[1:]]
