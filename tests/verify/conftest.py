"""Hypothesis without its deadline: an example that asks a child process takes what the machine needs."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
