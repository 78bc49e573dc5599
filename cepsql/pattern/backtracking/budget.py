"""How many steps the attempts of one scan may take."""

LEAST_STEPS = 1_000
"""What every attempt may take, however many were given up before it."""

_SHARE = 4


class Budget:
    """The steps that an attempt to match at one row may take beyond those that every pattern needs.

    An attempt that takes more is given up, and seldom alone: thousands of starts in its partition may share its fate.
    So each one halves what later attempts in its partition may take, and all partitions are halved whenever such
    attempts have wasted a few budgets together. The next scan begins afresh.
    """

    def __init__(self, steps: int):
        self.steps = steps
        self._given_up, self._wasted = 0, 0

    def enter(self) -> None:
        """Go to another partition."""
        self._given_up = 0

    def allowed(self, needed: int) -> int:
        """Return how many steps the next attempt may take if every pattern needs so many there."""
        whole = self.steps + needed
        halvings = self._given_up + self._wasted // (_SHARE * self.steps)
        return max(min(whole, LEAST_STEPS), whole >> halvings)

    def give_up(self, steps: int) -> None:
        """Note that an attempt was given up after so many steps."""
        self._given_up += 1
        self._wasted += steps
