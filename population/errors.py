"""Errors of models, engines and stores.

CorpError (verify.errors)
├── ModelMissing        no such directory or hub id, or it cannot be read
├── ModelUnsupported    pickle weights, custom code, quantised weights, no tokenizer, unknown layout
├── DirectionInvalid    a direction or law that does not fit the model
├── PopulationInvalid   a population that cannot be sampled (sigma <= 0, fewer than two members)
├── EngineMismatch      an engine whose live weights are not what was asked for
├── StoreMismatch       a score store that belongs to another search, or is damaged
├── ScoringStopped      scoring ended between two blocks because it was asked to
├── DiskFull            no room on the disk for what has to be written
└── TargetExists        a file or directory that must not be replaced
"""

from __future__ import annotations

from verify.errors import CorpError


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


class StoreMismatch(CorpError):
    code = "store_mismatch"


class ScoringStopped(CorpError):
    code = "scoring_stopped"


class DiskFull(CorpError):
    code = "disk_full"


class TargetExists(CorpError):
    code = "target_exists"
