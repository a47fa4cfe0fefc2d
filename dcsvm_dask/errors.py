"""The errors that users see, each with the exit status that the command line gives it."""

from __future__ import annotations


class DcsvmError(Exception):
    """A failure that is told in one sentence: what is wrong, where, and what to do."""

    exit_status = 1


class InputError(DcsvmError, ValueError):
    """Data, a parameter or a folder that a user gave cannot be used as it is."""

    exit_status = 2


class RunError(DcsvmError, RuntimeError):
    """A run stopped before its end; its committed stages stay and it can be resumed."""

    exit_status = 1


class OutOfTimeError(Exception):
    """The time budget is used up; what is committed stays."""


class OwnershipLostError(RunError):
    """Another process has taken over the folder that this one wrote."""
