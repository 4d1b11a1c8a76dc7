"""Detection of growth: a line through samples, with its error."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

BLOCKS = 12
"""Number of blocks: adjacent samples are alike, so that thousands of them would feign certainty; the line is fitted to
the means of a dozen blocks.
"""
FEWEST = 3


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth in units a second, with its standard error."""

    value: float
    error: float

    def is_above(self, limit: float) -> bool:
        """Tell whether growth exceeds *limit* beyond chance: two standard errors."""
        return self.value - 2 * self.error > limit


def slope(samples: Sequence[tuple[float, float]], blocks: int = BLOCKS) -> Slope:
    """Fit a line through *samples*, pairs of seconds and a value, in order; by least squares over their blocks' means.

    Fewer than three blocks are not enough: the error is infinite.
    """
    means = [_mean(block) for block in _blocks(samples, blocks)]
    if len(means) < FEWEST:
        return Slope(0.0, math.inf)
    seconds, values = zip(*means, strict=True)
    line = statistics.linear_regression(seconds, values)
    residual = sum((y - line.intercept - line.slope * x) ** 2 for x, y in means)
    centre = statistics.fmean(seconds)
    spread = sum((x - centre) ** 2 for x in seconds)
    return Slope(line.slope, math.sqrt(residual / (len(means) - 2) / spread))


def _blocks(samples: Sequence[tuple[float, float]], blocks: int) -> list[Sequence[tuple[float, float]]]:
    size = max(1, len(samples) // blocks)
    return [samples[at : at + size] for at in range(0, len(samples) - size + 1, size)]


def _mean(block: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(x for x, _ in block), statistics.fmean(y for _, y in block)
