"""Engines: things that hold a model, switch its weights and answer prompts."""

import os

# An OpenMP worker that spins while it waits takes the core from the thread it waits for as soon as anything
# else runs: 96 prompts on two busy cores took 30 to 66 s spinning and 9 to 13 s sleeping. The library reads
# this when torch loads it, so it is set where torch is first needed; a value of the user's own stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
