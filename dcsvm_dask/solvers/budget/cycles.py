"""The processor's cycle counter, in compiled code: what part of the work merges are."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

READABLE = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
"""Whether programs may read the counter: elsewhere to read it may end the process."""


@intrinsic
def cycles(typingctx: Any) -> Any:  # noqa: ARG001 (Numba's protocol)
    """Return the cycle counter; 0 on other processors than those of PCs."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        if not READABLE:
            return ir.Constant(ir.IntType(64), 0)
        kind = ir.FunctionType(ir.IntType(64), ())
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind)
        return builder.call(counter, ())

    return types.int64(), codegen
