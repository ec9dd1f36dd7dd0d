"""Noise and directions, engines that run them, scoring, and the store of scores."""
