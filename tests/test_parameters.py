"""Parameters are described once: checks, commands, files and docs are made from the description."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.parameters import as_text, check_parameters, described, parameter
from dcsvm_dask.pipeline.parameters import TrainingParameters
from dcsvm_dask.pipeline.training import Training, parameter_names


@dataclass(frozen=True)
class Some:
    """Parameters of all kinds."""

    whole: int = parameter(1, "a whole number", least=0, most=9)
    maybe: int | None = parameter(None, "a whole number, or none", least=64)
    real: float = parameter(1.0, "a number", above=0)
    share: float = parameter(0.5, "a share", above=0, most=1)
    flag: bool = parameter(False, "a flag")
    word: str = parameter("a", "a word", choices=("a", "b"))
    free: str = parameter("a", "any word")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"whole": 10}, "whole must be from 0 to 9, got 10"),
        ({"whole": 1.0}, "whole must be a whole number, got 1.0"),
        ({"whole": True}, "whole must be a whole number, got True"),
        ({"whole": 1 << 63}, r"whole must be below 2\^63"),
        ({"maybe": 8}, "maybe must be at least 64, got 8"),
        ({"maybe": "64"}, "maybe must be a whole number, got '64'"),
        ({"real": 0}, "real must be a positive number, got 0"),
        ({"real": float("nan")}, "real must be a positive number, got nan"),
        ({"real": 10**400}, "real must be a positive number"),
        ({"real": "1"}, "real must be a number, got '1'"),
        ({"share": 1.5}, "share must be a number above 0 and up to 1, got 1.5"),
        ({"flag": 1}, "flag must be true or false, got 1"),
        ({"word": "c"}, "word must be one of a, b, got 'c'"),
    ],
)
def test_values_of_another_kind_or_range_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        check_parameters(Some(**change))


@pytest.mark.parametrize(
    "change", [{}, {"maybe": 64}, {"whole": np.int64(9)}, {"flag": np.True_}, {"real": 1}]
)
def test_values_in_range_are_taken(change: dict[str, Any]) -> None:
    check_parameters(Some(**change))


def test_every_parameter_is_described() -> None:
    for kind in (TrainingParameters, *(method.options for method in METHODS.values())):
        assert [one.name for one, _ in described(kind)] == [one.name for one in fields(kind)]
    assert parameter_names("dcsvm") == [one.name for one in fields(TrainingParameters)]
    assert "levels" not in parameter_names("bagging")


def test_commands_have_an_option_for_every_parameter_with_its_default() -> None:
    shown = CliRunner().invoke(main, ["train", "--help"], terminal_width=200).output
    for one, about in described(Training):
        flag = f"--{one.name.replace('_', '-')}"
        assert (re.search(rf"{flag}\b", shown) is not None) == about.in_command
        if about.in_command and str(one.type) != "bool":
            assert (
                f"{about.help}; by default {about.default_text or as_text(one.default)}." in shown
            )


def test_the_docs_have_every_parameter() -> None:
    documented = str(api.train.__doc__)
    for one in fields(TrainingParameters):
        assert re.search(rf"^    (\w+, )*{one.name}(, \w+)* : ", documented, re.MULTILINE), one.name
    methods = (Path(__file__).parents[1] / "docs" / "methods.md").read_text()
    for method in METHODS.values():
        for one, _ in described(method.options):
            assert f"`{one.name}`" in methods or f"{one.name}=" in methods, one.name
