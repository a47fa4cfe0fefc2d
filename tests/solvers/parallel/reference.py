"""The choice of a working set as section 4.1 of the report has it, one variable at a time.

In the report's variables, 0 <= alpha <= C. Read with two slips put right: a pair violates where its
first variable stands before its second, and steps 6 and 7 fill up to q.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def largest_even_below(value: float) -> int:
    """Return the largest even integer below a value, at least 0."""
    found = 0
    while found + 2 < value:
        found += 2
    return found


def pairs_of(
    gradient: Sequence[float], alpha: Sequence[float], y: Sequence[float], C: float, n: int
) -> list[int]:
    """Return the variables that steps 2 and 3 select, n at most."""
    value = [-y[i] * gradient[i] for i in range(len(y))]
    chosen: list[int] = []
    while len(chosen) + 2 <= n:
        rest = [i for i in range(len(y)) if i not in chosen]
        up = [i for i in rest if (alpha[i] < C if y[i] > 0 else alpha[i] > 0)]
        low = [i for i in rest if (alpha[i] > 0 if y[i] > 0 else alpha[i] < C)]
        if not up or not low:
            break
        # Of equal ones the first, from either end.
        top, bottom = max(up, key=lambda i: (value[i], -i)), min(low, key=lambda i: (value[i], i))
        if value[top] <= value[bottom]:
            break
        chosen += [top, bottom]
    return chosen


def next_set(
    gradient: Sequence[float],
    alpha: Sequence[float],
    y: Sequence[float],
    C: float,
    before: dict[int, int],
    q: int,
    n: int,
) -> tuple[dict[int, int], int]:
    """Return the next working set and the next n.

    Parameters
    ----------
    gradient, alpha, y : sequence of float
        Of all variables.
    C : float
    before : dict of int to int
        The last working set: for how many iterations in a row each variable has been in it.
    q, n : int
    """
    chosen = pairs_of(gradient, alpha, y, C, n)
    recent = sorted(before, key=lambda i: (before[i], i))
    free = [i for i in recent if 0 < alpha[i] < C]
    at_lower = [i for i in recent if alpha[i] == 0]
    at_upper = [i for i in recent if alpha[i] == C]
    for i in (*free, *at_lower, *at_upper):
        if len(chosen) < q and i not in chosen:
            chosen.append(i)
    new = sum(i not in before for i in chosen)
    n = min(n, max(10, largest_even_below(q / 10), largest_even_below(new)))
    return {i: before.get(i, 0) + 1 for i in sorted(chosen)}, n


def violation_of(
    gradient: Sequence[float], alpha: Sequence[float], y: Sequence[float], C: float
) -> float:
    """Return m(alpha) - M(alpha), as in (72)."""
    value = -np.asarray(y) * np.asarray(gradient)
    up = [v for v, a, s in zip(value, alpha, y, strict=True) if (a < C if s > 0 else a > 0)]
    low = [v for v, a, s in zip(value, alpha, y, strict=True) if (a > 0 if s > 0 else a < C)]
    return max(0.0, max(up) - min(low)) if up and low else 0.0
