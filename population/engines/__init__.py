"""Engines: what turns a direction and some prompts into completions."""
