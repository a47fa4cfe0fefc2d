"""Names of stages; no other module makes them or takes them apart."""

from __future__ import annotations

LEVEL = "level"
REFINE = "refine"
CONQUER = "conquer"
BALANCE = "balance"
PASS = "pass"
CHECK = "check"
EPOCHS = "epochs"
DECOMPOSITION = "decomposition"
SCORE = "score"
MODEL = "model"
COMMITTEE = "committee"
PARTITION = "partition"

CHAINS = (REFINE, CONQUER)
"""Kinds of stages that are rounds over the support vectors or over all rows."""
NUMBERED = (LEVEL, REFINE, BALANCE, CONQUER, PASS, CHECK, EPOCHS, DECOMPOSITION)
"""Kinds of stages that have a number."""
ABOUT = (SCORE, MODEL, COMMITTEE, PARTITION)
"""Kinds of stages about another stage: its score, its model, its calibration, its clusters."""
KINDS = (*NUMBERED, *ABOUT)


class StageId(str):
    """The name of a stage: its kind, and its number or the stage that it is about.

    Names are ``KIND`` (``arrange``), ``KIND-NUMBER`` (``level-2``, ``conquer-003``) or
    ``KIND-STAGE`` (``score-level-2``, ``model-conquer-003``, ``score-model-conquer-003``).
    """

    __slots__ = ()

    @classmethod
    def numbered(cls, kind: str, number: int, digits: int = 3) -> StageId:
        """Return the name of a round, with leading zeros so that names sort by number.

        Parameters
        ----------
        kind : str
        number : int
        digits : int, default 3
            Least number of digits.
        """
        return cls(f"{kind}-{number:0{digits}d}")

    @classmethod
    def level(cls, number: int) -> StageId:
        """Return the name of a level."""
        return cls(f"{LEVEL}-{number}")

    @classmethod
    def about(cls, kind: str, stage: str) -> StageId:
        """Return the name of a stage about another one; `kind` is one of `ABOUT`."""
        return cls(f"{kind}-{stage}")

    @property
    def kind(self) -> str:
        """Kind of the stage."""
        return self.partition("-")[0]

    @property
    def number(self) -> int | None:
        """Number of a level or round; None for other stages."""
        number = self.partition("-")[2]
        return int(number) if number.isdecimal() else None

    @property
    def round(self) -> int | None:
        """Number of a round over support vectors or all rows; None for other stages."""
        return self.number if self.kind in CHAINS else None

    @property
    def is_level(self) -> bool:
        """Whether the stage is a level."""
        return self.kind == LEVEL

    @property
    def height(self) -> int:
        """Number of a level; 0 for other stages, whose models are of the whole problem."""
        return (self.number or 0) if self.is_level else 0

    @property
    def is_possible(self) -> bool:
        """Whether the name is valid: numbered kinds must have a number."""
        return self.kind not in NUMBERED or "-" not in self or self.number is not None

    @property
    def subject(self) -> StageId:
        """The stage that a stage is about; see `ABOUT`."""
        return StageId(self.partition("-")[2])

    @property
    def origin(self) -> StageId:
        """The stage that a score or calibration is about; for other stages the stage itself."""
        if self.kind in (SCORE, COMMITTEE):
            return self.subject.origin
        return self


def scores_of(stage: str) -> tuple[StageId, StageId]:
    """Return the stages that may score a point: its own score, and that of the model made of it."""
    return StageId.about(SCORE, stage), StageId.about(SCORE, StageId.about(MODEL, stage))
