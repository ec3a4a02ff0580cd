"""L-BFGS."""

from __future__ import annotations

from typing import Any

import opgrid as og

from .._opgrid import Tensor
from ..autograd import enable_grad, no_grad
from ._batch import State, number, real
from ._line_search import Point, strong_wolfe
from ._settings import require_learning_rate, settings
from .optimizer import Closure, Optimizer, Parameters


class LBFGS(Optimizer):
    """Newton's method with an inverse Hessian that the last ``history_size`` gradients approximate.

    One step is up to ``max_iter`` iterations, which call the closure up to ``max_eval`` times, by default ``max_iter * 5 / 4``.
    It ends when no gradient is larger than ``tolerance_grad``, or when neither the loss nor a parameter changes by more than
    ``tolerance_change``. ``line_search_fn`` is ``None`` or ``"strong_wolfe"``. There is one group of parameters.

    >>> import opgrid as og
    >>> x = og.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = og.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def loss():
    ...     optimizer.zero_grad()
    ...     value = ((x - 1) ** 2).sum()
    ...     value.backward()
    ...     return value
    >>> optimizer.step(loss)
    tensor(13., grad_fn=<SumBackward0>)
    >>> x.detach()
    tensor([1., 1.])
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, settings(locals()))
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS doesn't support per-parameter options (parameter groups), found {len(self.param_groups)} groups"
            )

    def _check_settings(self, group: dict[str, Any]) -> None:
        require_learning_rate(group)

    @property
    def _parameters(self) -> list[Tensor]:
        return list(self.param_groups[0]["params"])

    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        """Minimizes what the closure computes. It sets gradients anew, and returns the loss, as ``step`` does with the first."""
        with enable_grad():
            first = closure()
        if self._parameters:
            with no_grad():
                self._iterate(closure, self._signed(first))
        return first

    def _signed(self, loss: Any) -> float:
        return -float(loss) if self.param_groups[0].get("maximize") else float(loss)

    def _evaluated(self, closure: Closure) -> tuple[float, Tensor]:
        with enable_grad():
            loss = closure()
        return self._signed(loss), self._flat_grad()

    def _iterate(self, closure: Closure, loss: float) -> None:
        group = self.param_groups[0]
        rate, search, tolerance = number(group["lr"]), group["line_search_fn"], group["tolerance_change"]
        # The state belongs to the optimizer; it is kept with the first parameter, whose dtype it follows when it is loaded.
        state = self.state[self._parameters[0]]
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        evaluations = 1
        grad = self._flat_grad()
        if _largest(grad) <= group["tolerance_grad"]:
            return
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = state["d"] = _direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            is_first = state["n_iter"] == 1
            distance = min(1.0, 1.0 / number(grad.abs().sum())) * rate if is_first else rate
            state["t"] = distance
            slope = number(grad.dot(direction))
            if slope > -tolerance:
                return
            calls = 0
            if search == "strong_wolfe":
                start = Point(0.0, loss, grad, slope)
                limit = group["max_eval"] - evaluations
                at = self._along(closure, direction)
                found, calls = strong_wolfe(at, start, distance, _largest(direction), 1e-9, limit)
                loss, grad, distance = found.loss, found.grad, found.distance
                state["t"] = distance
                self._move(distance, direction)
            elif search is not None:
                raise RuntimeError(f"only 'strong_wolfe' is supported as line_search_fn, found {search!r}")
            else:
                self._move(distance, direction)
                if iteration < group["max_iter"]:
                    loss, grad = self._evaluated(closure)
                    calls = 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or _largest(grad) <= group["tolerance_grad"]
                or _largest(direction * distance) <= tolerance
                or abs(loss - state["prev_loss"]) < tolerance
            ):
                return

    def _flat_grad(self) -> Tensor:
        """The gradients of all parameters as one row, of complex ones as pairs of numbers."""
        grads = [og.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
        row = og.cat([grad.reshape(-1) for grad in real(grads)])
        return row.neg_() if self.param_groups[0].get("maximize") else row

    def _move(self, distance: float, direction: Tensor) -> None:
        """Adds a multiple of a row like that of gradients to the parameters."""
        start = 0
        for parameter in real(self._parameters):
            end = start + parameter.numel()
            parameter.add_(direction[start:end].view_as(parameter), alpha=distance)
            start = end

    def _along(self, closure: Closure, direction: Tensor) -> Any:
        """A function that evaluates points along a direction, and brings the parameters back."""
        kept = [parameter.clone() for parameter in self._parameters]

        def at(distance: float) -> Point:
            self._move(distance, direction)
            loss, grad = self._evaluated(closure)
            for parameter, value in zip(self._parameters, kept, strict=True):
                parameter.copy_(value)
            return Point(distance, loss, grad, number(grad.dot(direction)))

        return at


def _largest(x: Tensor) -> float:
    return number(x.abs().max())


def _direction(state: State, grad: Tensor, history: int) -> Tensor:
    """Minus the approximate inverse Hessian times the gradient, by the recursion of two loops (Nocedal, 1980).

    The state has differences of gradients (``old_dirs``) and of parameters (``old_stps``), and one over their products (``ro``).
    """
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return grad.neg()
    gradients, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
    product = change.dot(step)
    if product > 1e-10:
        if len(gradients) == history:
            for oldest in (gradients, steps, inverses):
                oldest.pop(0)
        gradients.append(change)
        steps.append(step)
        inverses.append(1.0 / product)
        state["H_diag"] = product / change.dot(change)
    parts = state.setdefault("al", [None] * history)
    direction: Tensor = grad.neg()
    for place in reversed(range(len(gradients))):
        parts[place] = steps[place].dot(direction) * inverses[place]
        direction.sub_(gradients[place] * parts[place])
    direction = direction * state["H_diag"]
    for place in range(len(gradients)):
        back = gradients[place].dot(direction) * inverses[place]
        direction.add_(steps[place] * (parts[place] - back))
    return direction
