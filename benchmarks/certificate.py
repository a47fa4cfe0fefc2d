"""How far a run's model can be from the best one: primal and dual value, in float64.

    python -m benchmarks.certificate RUN

Nothing of this package's numerics takes part: scikit-learn's kernel function multiplies all
training rows with the model's support vectors, both in float64. By weak duality no machine for the
same data, kernel and C has a dual objective below minus the primal value that is printed.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

import dcsvm_dask.api as dcsvm
from dcsvm_dask.storage.dataset import DataSet

ROWS = 500


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("run", help="run folder of an exact model without a bias")
    run = dcsvm.open_run(options.parse_args().run)
    found, header = run.status(), run.folder.header
    if not found["converged"] or header["settings"]["fit_intercept"]:
        raise SystemExit(f"{run.url}: is no converged run without a bias")
    kernel, C = header["settings"]["kernel"], header["settings"]["C"]
    svc = run.to_sklearn()
    support, coef = svc.support_vectors_, svc.dual_coef_
    if svc._sparse:
        coef = coef.toarray()
    coef = coef.ravel()
    names = {"rbf": ("gamma",), "poly": ("gamma", "coef0", "degree"), "linear": ()}
    parameters = {name: kernel[name] for name in names[kernel["name"]]}
    data = DataSet.open(header["data"]["url"])
    y = 2.0 * data.read_codes(0, data.n_rows) - 1.0
    f = np.empty(len(y))
    begin = time.perf_counter()
    for start in range(0, len(y), ROWS):
        X = data.rows.read(start, min(start + ROWS, len(y))).astype(np.float64)
        f[start : start + ROWS] = (
            pairwise_kernels(X, support, metric=kernel["name"], **parameters) @ coef
        )
    quadratic = coef @ f[svc.support_]
    dual = 0.5 * quadratic - np.abs(coef).sum()
    primal = 0.5 * quadratic + C * np.maximum(0.0, 1.0 - y * f).sum()
    print(f"the run says    objective {found['objective']:.6f}, gap {found['gap']:.6g}")
    print(f"recomputed      objective {dual:.6f}, gap {primal + dual:.6g}")
    print(f"lower bound     {-primal:.6f}: no objective on these data can be below")
    print(f"relative gap    {(primal + dual) / abs(dual):.2e}")
    print(f"{time.perf_counter() - begin:.0f} s in float64")
    return int(abs(dual - found["objective"]) > 1e-6 * abs(dual))


if __name__ == "__main__":
    sys.exit(main())
