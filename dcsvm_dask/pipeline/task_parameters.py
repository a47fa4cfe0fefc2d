"""The task of a training and the parameters of that task, checked against method and data."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.methods.run_data import seen_by
from dcsvm_dask.pipeline.data_checks import check_kind, check_nu_of_classes, check_one_class
from dcsvm_dask.pipeline.parameters import LOSSES, TrainingParameters
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import (
    OF_TASKS,
    TASKS,
    WITH_COMMITTEE,
    NuClassification,
    RealTargets,
    Task,
    make_task,
    members_of,
    task_and_type,
    task_name,
    words_of_task,
)


@dataclass(frozen=True, slots=True)
class TaskParameters:
    """What the parameters of a training mean for its task.

    Parameters
    ----------
    given : TrainingParameters
    options : Options
        The parameters of the method.
    """

    given: TrainingParameters
    options: Options

    def check(self) -> None:
        """Check the parameters of the task, or of any task where the data are to choose it.

        Raises
        ------
        InputError
            If one is impossible, or is a parameter of other tasks.
        """
        self._check_loss()
        named = None if self.given.task == "auto" else self.name(self.given.task)
        for task in (named,) if named else TASKS:
            make_task(task, self._of_task(task))
        if named:
            self._refuse_of_others(named)

    def check_for(self, task: str) -> None:
        """Check the method and its parameters against the task of data that are not read yet.

        Parameters
        ----------
        task : str
            A name of `DATA_TASKS`.

        Raises
        ------
        InputError
            If the method does not learn it, or a parameter is one of other tasks.
        """
        name = self.chosen(task)
        self._refuse_unable(name, "")
        self._refuse_of_others(name)

    def chosen(self, task: str) -> str:
        """Return the name of the task on data made for a task, with the type of its SVM."""
        return self.name(task if self.given.task == "auto" else self.given.task)

    def name(self, task: str) -> str:
        """Return the name of a task with the type of its SVM.

        Raises
        ------
        InputError
            If nu is asked for, and the task has no such type.
        """
        svm_type = self.given.svm_type
        name = task_name(task, svm_type)
        if svm_type == "nu" and name == task:
            raise InputError(
                f"svm_type: nu is for the tasks classification and regression, not for {task}"
            )
        return name

    def task(self, data: DataSet) -> Task:
        """Return the task, for the targets of the data where they have some.

        Raises
        ------
        InputError
            If the data or the method are not for the task, or a parameter is one of other tasks.
        """
        name = self.chosen(data.task)
        check_kind(data, name)
        self._refuse_unable(name, f"{data.url}: ")
        self._refuse_of_others(name)
        task = make_task(name, self._of_task(name))
        self.options.check_task(task)
        self._check_several(task)
        if isinstance(task, NuClassification):
            self._refuse_c("nu-SVC")
            seen = seen_by(data, self.options.to_json(), int(self.given.seed))
            class_weight, multiclass = self.given.class_weight, self.given.multiclass
            check_nu_of_classes(data, seen, task, class_weight, multiclass)
        if task.has_classes:
            return task
        self._refuse_of_classes(name, task)
        if not isinstance(task, RealTargets):
            self._refuse_c("one-class SVM")
            check_one_class(data)
            return task
        assert data.targets is not None
        # With a sum of sizes there is a bias, whether it was asked for or not.
        return task.of_targets(data.targets, centred=self.given.fit_intercept or task.has_sum)

    def _of_task(self, task: str) -> dict[str, Any]:
        """Return the parameters of a task that were given."""
        given = {
            word: value for word in words_of_task(task) if (value := self._given(word)) is not None
        }
        loss = given.pop("loss", None)
        found: dict[str, Any] = {
            word: float(value) if is_a(value, numbers.Real) else value
            for word, value in given.items()
        }
        return found if loss is None else {**found, "squared": loss == LOSSES[task][1]}

    def _given(self, word: str) -> Any:
        """Return the value of a task's parameter, None where it is not given.

        A method's own loss may be one of regression.
        """
        own = getattr(self.options, word, None)
        return own if own in LOSSES["regression"] else getattr(self.given, word)

    def _check_loss(self) -> None:
        """Refuse a loss that the method does not have."""
        known, loss = self.options.losses, self.given.loss
        if known is not None and loss is not None and loss not in known:
            raise InputError(
                f"loss: {self.given.method} has no {loss}, but {', '.join(known)}; "
                "take method dcsvm"
            )

    def _check_several(self, task: Task) -> None:
        """Refuse several quantiles where the method trains one."""
        many, method = len(members_of(task)), self.given.method
        if many > 1 and not METHODS[method].many_classes:
            raise InputError(
                f"quantile: method {method} trains one quantile, got {many}; use method "
                "dcsvm, or give one"
            )

    def _refuse_unable(self, task: str, where: str) -> None:
        """Refuse a method that does not learn a task."""
        if task not in METHODS[self.given.method].tasks:
            known = ", ".join(one.name for one in METHODS.values() if task in one.tasks)
            raise InputError(
                f"{where}method {self.given.method} is not for {task}; methods that are: {known}"
            )

    def _refuse_of_others(self, task: str) -> None:
        """Refuse parameters of other tasks."""
        for word, owners in OF_TASKS.items():
            if self._given(word) is not None and task not in owners:
                names = " and ".join(map(_described, owners))
                raise InputError(
                    f"{word}: is a parameter of task {names}, not of {_described(task)}"
                )
        loss = self.given.loss
        if loss is not None:
            known = ", ".join(LOSSES[task])
            check(loss in LOSSES[task], "loss", loss, f"one of {known} for {task}")

    def _refuse_of_classes(self, name: str, task: Task) -> None:
        """Refuse parameters that are for classes, where the task has none."""
        learns = "numbers" if isinstance(task, RealTargets) else "no classes"
        classes = ("classification",)
        given = {
            "class_weight": (self.given.class_weight, classes),
            "multiclass": (self.given.multiclass != "ovo", classes),
            "committee": (self.given.committee, WITH_COMMITTEE),
        }
        for word, (is_given, of) in given.items():
            if is_given and name not in of:
                others = " and regression" if len(of) > 1 else ""
                raise InputError(
                    f"{word}: is for classes{others}, and {name} learns {learns}; leave it out"
                )

    def _refuse_c(self, machine: str) -> None:
        """Refuse C where nu stands for it."""
        if self.given.C != 1.0:
            raise InputError(f"C: a {machine} has no C; leave it out, and give nu")


def _described(task: str) -> str:
    """Return a task and the type of its SVM as users name them."""
    name, svm_type = task_and_type(task)
    return f"{name} with svm-type nu" if svm_type == "nu" else name
