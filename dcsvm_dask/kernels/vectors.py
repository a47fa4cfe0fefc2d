"""Wide vector instructions and the exponential, for use inside compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

# Called from compiled code only: no wrappers, which cost compile time.
INNER = {"cache": True, "nogil": True, "no_cpython_wrapper": True}
# Without reassoc: the rounding trick below is (t + ROUND) - ROUND.
LOOP_FLAGS = {"contract", "nsz"}
SUM_FLAGS = {"contract", "nsz", "reassoc"}

_ROUND32 = np.float32(1.5 * 2**23)
_ROUND64 = 1.5 * 2.0**52


@intrinsic
def prefer_wide_vectors(typingctx: Any) -> Any:  # noqa: ARG001 (Numba's protocol)
    """Let LLVM use 512-bit vectors in the function that calls this, where the CPU has them.

    LLVM holds itself to 256 bits on many CPUs with AVX-512 because single wide instructions can
    cost clock speed. The loops here run beside a BLAS that uses the wide ones anyway, and were
    measured 1.6 times faster with them. The function is kept out of line, since inlining would
    drop the attribute.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        attributes = builder.function.attributes
        attributes.add("noinline")
        # llvmlite has no name for this attribute; its set of attributes prints any string.
        if isinstance(attributes, set):
            set.add(attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), codegen


def exp2(t: Any) -> Any:
    """Return 2**t for t <= 0, in compiled code only; vectorises, and makes nothing subnormal.

    Below -100 it is 0, in either precision: what is smaller would be subnormal in float32, at the
    latest as a product with a small step, and a solver of a matrix with such values takes ten times
    as long. Not-a-number stays so. With n the nearest whole number and r = t - n, 2**r is
    1 + r q(r) with q the polynomial through (2**r - 1) / r at the Chebyshev nodes of [-1/2, 1/2];
    relative error of the polynomial 5e-9 (degree 6) or 8e-18 (degree 11). 2**n goes straight into
    the exponent bits.
    """
    raise NotImplementedError("exp2 exists in compiled code only")


@overload(exp2, jit_options={"fastmath": LOOP_FLAGS})
def _exp2(t: Any) -> Callable[[Any], Any]:
    return _exp2_float32 if t == types.float32 else _exp2_float64


def _exp2_float32(t: Any) -> Any:
    is_zero = t < np.float32(-100)
    t = np.float32(-100) if is_zero else t
    shifted = t + _ROUND32
    r = t - (shifted - _ROUND32)
    p = np.float32(1.54531629451194713e-04)
    p = p * r + np.float32(1.33908633646712141e-03)
    p = p * r + np.float32(9.61808255727785405e-03)
    p = p * r + np.float32(5.55035711421907785e-02)
    p = p * r + np.float32(2.40226507605681269e-01)
    p = p * r + np.float32(6.93147188026228781e-01)
    p = p * r + np.float32(1)
    bits = np.float32(p).view(np.int32) + (np.float32(shifted).view(np.int32) << np.int32(23))
    return np.float32(0) if is_zero else np.int32(bits).view(np.float32)


def _exp2_float64(t: Any) -> Any:
    is_zero = t < -100.0
    t = -100.0 if is_zero else t
    shifted = t + _ROUND64
    r = t - (shifted - _ROUND64)
    p = 4.45489689254694877e-10
    p = p * r + 7.07258801700781345e-09
    p = p * r + 1.01780628396759452e-07
    p = p * r + 1.32154425788050383e-06
    p = p * r + 1.52527338289377398e-05
    p = p * r + 1.54035304417452522e-04
    p = p * r + 1.33335581464178671e-03
    p = p * r + 9.61812910760689285e-03
    p = p * r + 5.55041086648215905e-02
    p = p * r + 2.40226506959100982e-01
    p = p * r + 6.93147180559945309e-01
    p = p * r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << np.int64(52))
    return 0.0 if is_zero else np.int64(bits).view(np.float64)
