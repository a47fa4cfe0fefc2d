"""Estimators whose fit may be a run, and that are read again from one."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dcsvm_dask.estimators.with_client import WithClient
from dcsvm_dask.models.model import Model

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record


class WithRun(WithClient):
    """Base class of estimators with the parameters that only a run can serve.

    They are `dcsvm_dask.estimators.run_parameters.RUN_PARAMETERS`.
    Where one of these is given, `fit` trains a run. Attributes are documented in `DCSVC`.
    """

    task_name: ClassVar[str]
    """The task of runs, with the type of its SVM."""

    early_model_: Model | None
    level_: int

    @classmethod
    def from_run(cls, run: Any) -> Self:
        """Return the estimator that a run has trained, fitted.

        Parameters
        ----------
        run : str or path
            Its folder, of `fit` or of `dcsvm_dask.train` (method dcsvm).

        Returns
        -------
        self
            It takes rows scaled as those of the run's data set are; `dcsvm_dask.Run.scale` does it.

        Warns
        -----
        DcsvmWarning
            If these are scaled.

        Raises
        ------
        InputError
            If there is no such run, it has no model yet, or is of another method or task.
        """
        made: Self = cls._runs().restored(cls, run)
        return made

    @staticmethod
    def _runs() -> ModuleType:
        """Import the module with ``fit`` and ``restored``, which train and read runs.

        It is imported where a run begins: a fit in memory needs neither Zarr nor graphs, whose
        import takes longer than such a fit.
        """
        raise NotImplementedError

    def _learn_of_run(self, record: Record | None) -> None:
        """Set what only this kind of estimator learns of a run; most kinds learn nothing.

        Parameters
        ----------
        record : dict or None
            Of the commit of the exact model; None: the model is an early one.
        """
