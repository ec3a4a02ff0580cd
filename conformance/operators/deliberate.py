"""The differences from torch that were decided on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compare import Difference, Outcome
from record import Call


@dataclass(frozen=True)
class Rule:
    name: str
    reason: str
    """What torch does, what opgrid does instead, and why."""
    test: str
    """The test of opgrid's that shows it."""
    explains: Callable[[Call, Outcome, Difference], bool]


RULES: tuple[Rule, ...] = (
    Rule(
        name="nearer-to-the-exact-result",
        reason=(
            "torch rounds between the steps of a computation in 16 and 32 bits; opgrid rounds less often or elsewhere, and each element "
            "that differs is at least as near to the result in double precision"
        ),
        test="conformance/operators/test_comparison.py test_what_is_nearer_to_the_exact_result_is_wanted",
        explains=lambda call, outcome, difference: outcome.nearer and difference.kind in ("value", "argument"),
    ),
    Rule(
        name="averages-of-complex-numbers-are-complex",
        reason=(
            "torch writes averages of complex numbers to real outputs, which lose the imaginary parts; here that is refused, because "
            "nothing is lost silently"
        ),
        test="opgrid-tensor/tests/differences.rs averages_of_complex_numbers_are_complex",
        explains=lambda call, outcome, difference: (
            difference.kind == "refuses"
            and call.overload.startswith("mean.")
            and "result type complex" in difference.text
        ),
    ),
    Rule(
        name="complex-of-16-bit-floats",
        reason=(
            "torch promotes complex numbers beside 16-bit floats to a complex dtype of 16 bits, whose range results leave; here they are "
            "complex64"
        ),
        test="opgrid-tensor/tests/promotion.rs every_category_under_every_default",
        explains=lambda call, outcome, difference: (
            difference.kind in ("dtype", "argument") and "complex32, opgrid complex64" in difference.text
        ),
    ),
    Rule(
        name="empty-outputs-among-inputs",
        reason=(
            "torch gives an output without elements its shape before it looks at the inputs, of which it may be one, and refuses it; "
            "here they are looked at first, and what has no elements shares none"
        ),
        test="opgrid-tensor/tests/differences.rs what_has_no_elements_shares_none",
        explains=lambda call, outcome, difference: (
            difference.kind == "accepts"
            and call.overload in ("cat.out", "stack.out")
            and "refer to a single memory location" in difference.text
            and any(0 in place.size for place in call.arguments.places())
        ),
    ),
    Rule(
        name="products-are-written-to-any-strides",
        reason=(
            "torch gives outputs of matmul other strides, or refuses them, by the path that a product takes; an output of the right shape "
            "can hold the result, and is written where it lies"
        ),
        test="opgrid-tensor/tests/differences.rs products_into_their_own_factors",
        explains=lambda call, outcome, difference: (
            call.overload == "matmul.out"
            and (
                difference.kind in ("stride", "argument")
                or difference.kind == "accepts" and "must match the size of tensor" in difference.text
            )
        ),
    ),
)


def rule_for(call: Call, outcome: Outcome, difference: Difference) -> str | None:
    """The name of the rule that explains a difference."""
    return next((rule.name for rule in RULES if rule.explains(call, outcome, difference)), None)
