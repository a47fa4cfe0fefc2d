"""The errors that users see, each with the exit status that the command line gives it."""

from __future__ import annotations

from dcsvm_dask.masking import masked


class DcsvmError(Exception):
    """A failure in one sentence: what is wrong, where, and what to do.

    Passwords and signatures of URLs are masked, whoever writes the sentence.
    """

    exit_status = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(masked(arg) if isinstance(arg, str) else arg for arg in args))


class InputError(DcsvmError, ValueError):
    """Data, a parameter or a folder that a user gave cannot be used as it is."""

    exit_status = 2


class InfeasibleError(InputError):
    """What was asked has no solution, whoever computes it: a step that finds so is not repeated."""


class AccessError(InputError):
    """A store refuses access to what a user named; whether it is there, nobody knows."""


class UnreachableError(AccessError):
    """A store or web server does not answer."""


class RunError(DcsvmError, RuntimeError):
    """A run stopped before its end; its committed stages stay and it can be resumed."""

    exit_status = 1


class Terminated(KeyboardInterrupt):
    """The process got the signal to end (SIGTERM): by a queue, Kubernetes, Docker or `kill`."""


class OutOfTimeError(Exception):
    """The time budget is used up; what is committed stays."""


class OwnershipLostError(RunError):
    """Another process has taken over the folder that this one wrote."""


class DcsvmWarning(UserWarning):
    """Data that can be used as they are, but are probably not what the user means."""
