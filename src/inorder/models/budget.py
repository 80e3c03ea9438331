"""How many tokens and how much money a run may spend on models.

A request reserves what it declares before it is sent, so that requests in flight cannot exceed a limit together. Once
it is answered, what it has used is spent and the rest is free again. A request that finds no room waits while others
are in flight, and stops the run when none is. Prices are the user's: the package has none.
"""

import threading

import msgspec

from inorder.errors import StageError, require

_MILLION = 1_000_000


class SpendingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a run may spend on models, and the prices of the user. None: no limit, or no price.

    >>> SpendingLimits(price_in=0.5, price_out=2.0).cost(1_000_000, 500_000)
    1.5

    Raises:
        OperatorError: There is a limit on money and no price.
    """

    tokens_max: int | None = None
    cost_max: float | None = None
    price_in: float | None = None
    """What a million tokens of requests cost."""
    price_out: float | None = None
    """What a million tokens of answers cost."""

    def __post_init__(self) -> None:
        require(
            self.cost_max is None or self.has_prices,
            "cost_max needs prices: set model_price_in and model_price_out, which are for a million tokens",
        )

    @property
    def has_prices(self) -> bool:
        """Whether there is a price. One that is not given is 0."""
        return self.price_in is not None or self.price_out is not None

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost."""
        return (tokens_in * (self.price_in or 0.0) + tokens_out * (self.price_out or 0.0)) / _MILLION


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What was spent, and what requests in flight may spend."""

    tokens: int = 0
    cost: float = 0.0
    reserved_tokens: int = 0
    reserved_cost: float = 0.0
    in_flight: int = 0


class ModelBudget:
    """The limits of a run, shared by all its models. Thread-safe.

    >>> budget = ModelBudget(SpendingLimits(tokens_max=1000))
    >>> reserved = budget.reserve(600, 200)
    >>> budget.settle(reserved, 600, 50)
    >>> budget.read().tokens
    650
    """

    def __init__(self, limits: SpendingLimits | None = None) -> None:
        self._limits = limits or SpendingLimits()
        self._changed = threading.Condition()
        self._spending = Spending()

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost; 0 without prices."""
        return self._limits.cost(tokens_in, tokens_out)

    def read(self) -> Spending:
        """Return what was spent."""
        with self._changed:
            return self._spending

    def reserve(self, tokens_in: int, tokens_out: int) -> tuple[int, float]:
        """Reserve what a request may use. Waits while requests in flight may leave room. Raises a StageError that stops
        the run if there is none."""
        tokens, cost = tokens_in + tokens_out, self.cost(tokens_in, tokens_out)
        with self._changed:
            while (limit := self._find_exceeded(tokens, cost)) is not None:
                if not self._spending.in_flight:
                    raise StageError(limit, category="provider", retryable=True, budget=limit)
                self._changed.wait()
            self._add(tokens, cost, 1)
        return tokens, cost

    def settle(self, reserved: tuple[int, float], tokens_in: int, tokens_out: int) -> None:
        """Replace a reservation by what was used; zeros if the request was not answered."""
        with self._changed:
            self._add(-reserved[0], -reserved[1], -1)
            spent = self._spending
            self._spending = msgspec.structs.replace(
                spent, tokens=spent.tokens + tokens_in + tokens_out, cost=spent.cost + self.cost(tokens_in, tokens_out)
            )
            self._changed.notify_all()

    def _add(self, tokens: int, cost: float, requests: int) -> None:
        spent = self._spending
        self._spending = msgspec.structs.replace(
            spent,
            reserved_tokens=spent.reserved_tokens + tokens,
            reserved_cost=spent.reserved_cost + cost,
            in_flight=spent.in_flight + requests,
        )

    def _find_exceeded(self, tokens: int, cost: float) -> str | None:
        """Return which limit a request would exceed, in words."""
        spent, limits = self._spending, self._limits
        if limits.tokens_max is not None and spent.tokens + spent.reserved_tokens + tokens > limits.tokens_max:
            return f"model_tokens_max={limits.tokens_max} is reached: {spent.tokens} tokens are used"
        if limits.cost_max is not None and spent.cost + spent.reserved_cost + cost > limits.cost_max:
            return f"cost_max={limits.cost_max:g} is reached: {spent.cost:.4g} is spent"
        return None
