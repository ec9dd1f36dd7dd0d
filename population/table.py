"""The scores of several candidates on one split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """N candidates by M prompts.

    Attributes:
        keys: the candidates' keys, in the order they were asked for.
        sigmas: their amplitudes, shape (N,).
        values: the verifier's values, float64, shape (N, M).
        valid: whether the verifier could judge, shape (N, M).
        success: whether the answer passes, shape (N, M); never where the verdict is not valid.
    """

    keys: tuple[str, ...]
    sigmas: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]
    success: npt.NDArray[np.bool_]

    def rewards(self) -> npt.NDArray[np.float64]:
        """Mean value over each candidate's valid prompts, shape (N,); NaN for one that has none."""
        counts = self.valid.sum(axis=1)
        sums = np.where(self.valid, self.values, 0.0).sum(axis=1)
        means = np.full(len(counts), np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means

    def valid_rate(self) -> float:
        """Share of valid verdicts over the whole table."""
        return float(self.valid.mean()) if self.valid.size else 1.0
