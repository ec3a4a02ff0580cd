"""Calls every public name of ``torch`` and of ``torch.Tensor`` with torch and with opgrid, and compares what they give.

A name counts when a call of it gives what torch's gives, or fails as torch's does: the call that `calls.CALLS` has for it, else the first
of `calls.TRIED` that torch takes. Each name that opgrid lacks needs a reason in `absent.REASONS`. The forms in `forms.FORMS` are called, too.
Exit status 1 where a call differs, a name has no call, or a reason is missing or out of date; ``--list`` prints each name with its call.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import absent
import calls
import forms
import opgrid
import torch

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parents[1] / "python"))
from compare import builtin_of  # noqa: E402

TOLERANCE = 1e-4
"""How far numbers may be apart, beside their size."""


def public_names(owner: str) -> list[str]:
    """The public names of torch, or of its tensors; modules of other packages that torch imports are none."""
    if owner == "Tensor":
        return [name for name in dir(torch.Tensor) if not name.startswith("_")]
    found = [name for name in dir(torch) if not name.startswith("_")]
    return [name for name in found if not is_foreign(getattr(torch, name))]


def is_foreign(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and not value.__name__.startswith(("torch", "_classes", "_ops"))


def names_of(m: Any, values: dict[str, str]) -> dict[str, Any]:
    """What calls are made with."""
    m.random.manual_seed(7)
    return {"m": m, **{name: eval(text, {"m": m}) for name, text in values.items()}}


def end_of(m: Any, call: str, values: dict[str, str] = calls.VALUES) -> tuple[str, Any]:
    """How a call ends: with a value, or with the builtin class of an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = names_of(m, values)
        try:
            *statements, last = call.split("; ")
            for statement in statements:
                exec(statement, names)
            return "value", plain(m, eval(last, names))
        except Exception as error:
            return "exception", builtin_of(error)


def plain(m: Any, value: Any) -> Any:
    """The value as something that both sides have alike."""
    if isinstance(value, m.Tensor):
        numbers = value.detach().resolve_conj().resolve_neg()
        numbers = numbers if str(value.dtype).endswith(("complex64", "complex128")) else numbers.double()
        listed = numbers.tolist() if value.device.type == "cpu" else None
        return "tensor", str(value.dtype).partition(".")[2], tuple(value.shape), listed
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, (tuple, list)):
        return [plain(m, item) for item in value]
    if isinstance(value, dict):
        return {key: plain(m, item) for key, item in value.items()}
    if type(value).__module__ == "numpy":
        return "numpy", str(value.dtype), value.tolist()
    if isinstance(value, (bool, int, float, complex, type(None))):
        return value
    return str(value).replace("opgrid.", "torch.")


def is_same(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal, numbers nearly so."""
    if isinstance(theirs, (list, tuple)):
        return isinstance(ours, type(theirs)) and len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and list(ours) == list(theirs) and all(is_same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, type):
        return isinstance(ours, type) and issubclass(ours, theirs)
    if isinstance(theirs, (float, complex)) and not isinstance(ours, (str, type(None))):
        return ours == theirs or (ours != ours and theirs != theirs) or abs(ours - theirs) <= TOLERANCE * (1 + abs(theirs))
    return type(ours) is type(theirs) and ours == theirs


def tried(owner: str, name: str) -> Iterator[str]:
    """Calls that torch may take, most plausible ones first."""
    prefix = f"x.{name}" if owner == "Tensor" else f"m.{name}"
    value = getattr(torch.Tensor if owner == "Tensor" else torch, name)
    if not callable(value):
        yield prefix
        return
    for arguments in calls.TRIED:
        if owner == "Tensor":
            receiver, _, rest = arguments.partition(", ")
            yield f"{receiver}.{name}({rest})"
        else:
            yield f"{prefix}({arguments})"


def call_of(owner: str, name: str) -> str | None:
    """The call that a name is compared by."""
    listed = calls.CALLS[owner].get(name)
    if listed is not None:
        return listed
    accepted = (call for call in tried(owner, name) if end_of(torch, call)[0] == "value")
    return next(accepted, None)


def is_there(owner: str, name: str) -> bool:
    try:
        getattr(opgrid.ones(2) if owner == "Tensor" else opgrid, name)
    except AttributeError:
        return False
    except Exception:
        return True
    return True


def reason_of(owner: str, name: str) -> str | None:
    """Why opgrid does not have a name."""
    return next((reason for pattern, reason in absent.REASONS[owner].items() if fnmatch.fnmatchcase(name, pattern)), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--list", action="store_true", help="print each name with its call")
    parser.add_argument("--page", action="store_true", help="print the page of the documentation with the names that are left out")
    options = parser.parse_args()
    if options.page:
        print(page(), end="")
        return 0
    faults = 0
    for owner in ("torch", "Tensor"):
        known = public_names(owner)
        chosen = [name for name in known if not options.names or name in options.names]
        counts: collections.Counter[str] = collections.Counter()
        for name in chosen:
            sort, text = judged(owner, name)
            counts[sort] += 1
            faults += sort in ("differs", "unexplained")
            if sort in ("differs", "unexplained") or options.list:
                print(f"{owner}.{name}: {sort}: {text}")
        print(f"{owner}: {counts['same']} of {len(known)} names are called as torch's are; {counts['left out']} are left out for a reason")
    if not options.names:
        differing = [text for call in forms.FORMS if (text := difference(call, forms.VALUES))]
        print(*differing, f"{len(forms.FORMS) - len(differing)} of {len(forms.FORMS)} forms end as torch's do", sep="\n")
        faults += len(differing)
    return 1 if faults else 0


def page() -> str:
    """What docs/reference/names.md says."""
    lines = ["# Names of torch", "", "Printed by `python conformance/names/run.py --page`, which compares a call of each name with torch's."]
    for owner, title in (("torch", "`torch`"), ("Tensor", "`torch.Tensor`")):
        judgements = {name: judged(owner, name) for name in public_names(owner)}
        same = sum(sort == "same" for sort, _ in judgements.values())
        lines += ["", f"## {title}", "", f"{same} of {len(judgements)} names are called as torch's are. Left out:", ""]
        reasons: dict[str, list[str]] = {}
        for name, (sort, text) in judgements.items():
            if sort == "left out":
                reasons.setdefault(text, []).append(f"`{name}`")
        rows = sorted(reasons.items(), key=lambda row: -len(row[1]))
        lines += ["| because | names |", "|---|---|", *(f"| {reason} | {', '.join(names)} |" for reason, names in rows)]
    return "\n".join(lines) + "\n"


def difference(call: str, values: dict[str, str]) -> str:
    """How a call ends on both sides, if not in the same way."""
    theirs, ours = end_of(torch, call, values), end_of(opgrid, call, values)
    if theirs[0] == ours[0] and is_same(ours[1], theirs[1]):
        return ""
    return f"{call}\n    torch   {str(theirs)[:240]}\n    opgrid  {str(ours)[:240]}"


def judged(owner: str, name: str) -> tuple[str, str]:
    """Whether a name is the `same`, `differs`, is `left out` or is `unexplained`, with what to say of it."""
    reason = reason_of(owner, name)
    if not is_there(owner, name):
        return ("unexplained", "it is not there, and `absent.REASONS` does not say why") if reason is None else ("left out", reason)
    if reason is not None:
        return "unexplained", f"it is there, and `absent.REASONS` says why not: {reason}"
    if name in absent.DIFFERENT[owner]:
        return "left out", absent.DIFFERENT[owner][name]
    call = call_of(owner, name)
    if call is None:
        return "unexplained", "torch takes none of the calls that are tried; list one in `calls.CALLS`"
    text = difference(call, calls.VALUES)
    return ("differs", text) if text else ("same", call)


if __name__ == "__main__":
    sys.exit(main())
