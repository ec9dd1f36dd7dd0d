"""What a task says openly about its verifier, so that a probe does not take it for a hole."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Allowance(BaseModel):
    """Section `allow` of a task. Every field weakens a probe; the report shows it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_strict: bool = Field(
        default=False, description="a right answer with white space or `Answer:` around it may be wrong"
    )
    partial: float = Field(
        default=0.0, ge=0, lt=1, description="share of full marks that an answer may get without being right"
    )
    constant: float | None = Field(
        default=None, ge=0, le=1, description="share of rows on which one and the same answer may be right"
    )
