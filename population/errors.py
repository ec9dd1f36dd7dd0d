"""Errors of models, engines and stores.

CorpError (verify.errors)
├── ModelMissing        no such directory or hub id, or it cannot be read
├── ModelUnsupported    pickle weights, custom code, quantised weights, no tokenizer, unknown layout
├── DirectionInvalid    a direction or law that does not fit the model
├── PopulationInvalid   a population that cannot be sampled (sigma <= 0, fewer than two members)
├── EngineMismatch      an engine whose live weights are not what was asked for
├── EngineIncapable     an engine that cannot do what the verifier needs
├── StoreMismatch       a score store that belongs to another search, or is damaged
├── VerdictsInvalid     so many verdicts that are not valid that scores say nothing
├── ScoringStopped      scoring ended between two blocks because it was asked to
├── DiskFull            no room on the disk for what has to be written
└── TargetExists        a file or directory that must not be replaced
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.errors import CorpError

if TYPE_CHECKING:
    from population.validity import Shortfall


class ModelMissing(CorpError):
    code = "model_missing"


class ModelUnsupported(CorpError):
    code = "model_unsupported"


class DirectionInvalid(CorpError):
    code = "direction_invalid"


class PopulationInvalid(CorpError):
    code = "population_invalid"


class EngineMismatch(CorpError):
    code = "engine_mismatch"


class EngineIncapable(CorpError):
    code = "engine_incapable"


class StoreMismatch(CorpError):
    code = "store_mismatch"


class VerdictsInvalid(CorpError):
    """Args: shortfall: whose, how many, and the commonest reason."""

    code = "verdicts_invalid"

    def __init__(self, detail: str, *, hint: str, shortfall: Shortfall) -> None:
        super().__init__(detail, hint=hint)
        self.shortfall = shortfall


class ScoringStopped(CorpError):
    code = "scoring_stopped"


class DiskFull(CorpError):
    code = "disk_full"


class TargetExists(CorpError):
    code = "target_exists"
