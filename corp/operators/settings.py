"""What the operators can be told. One set for all, so that a sweep compares like with like."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
Quantile = Annotated[float, Field(ge=0, lt=1)]


class OperatorSettings(BaseModel):
    """Grids and constants of the operators; each reads those that its docstring names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: tuple[Quantile, ...] = Field(default=(0.5, 0.7, 0.9), min_length=1, description="elite quantiles")
    beta: tuple[Positive, ...] = Field(
        default=(0.5, 1, 2, 5, 10, 20, 50), min_length=1, description="inverse temperatures of the softmax"
    )
    scales: tuple[Positive, ...] = Field(
        default=(0.5, 1, 2, 4, 8, 16),
        min_length=1,
        description="the papers' operators: step lengths in units of the mean's norm",
    )
    radii: tuple[Positive, ...] = Field(
        default=(0.125, 0.25, 0.375, 0.5, 0.75, 1, 1.5, 2),
        min_length=1,
        description="the other operators: step lengths in units of the population's RMS sigma",
    )
    min_ess: float = Field(
        default=8, ge=1, le=1e6, description="floor of the effective sample size of softmax weights"
    )
    min_elites: int = Field(
        default=8, ge=1, le=100_000, description="a quantile that leaves fewer elites is skipped"
    )
    rank: int = Field(default=8, ge=1, le=256, description="cloud dimensions: top_r and diagnostics")
    density: float = Field(
        default=0.2, ge=1 / 65536, le=1, description="ties, dare: share of each tensor kept"
    )
    regress_weight: float = Field(
        default=1.0, ge=0, le=100, description="response: cost of a regression in units of a fix"
    )
    evaluations: int = Field(default=24, ge=2, le=10_000, description="greedy: evaluations on select")
    seed: int = Field(default=0, ge=0, lt=2**63, description="random_mean: of its draw")
