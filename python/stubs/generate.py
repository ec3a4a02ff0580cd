"""Writes the type stubs of the package: the texts beside this file, with the registry's operators in them.

``python python/stubs/generate.py`` writes them into the package; with ``--check`` it only says whether they are those of the
registry. The package has to be importable.
"""

from __future__ import annotations

import keyword
import pathlib
import re
import sys
import types

import opgrid as og
from opgrid import _opgrid

HERE = pathlib.Path(__file__).parent
PACKAGE = HERE.parent / "opgrid"

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "_int",
    "SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "complex": "_complex",
    "str": "_str",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Device": "_device | _str",
    "Generator": "Generator",
}


NAMESPACES = ("fft_", "linalg_", "special_")
"""What the names of operators begin with that are in a module of their own, too."""

RETURN_TYPES: dict[str, str] = {}
"""The classes of several results with names, by the function's name."""


def annotation(declared: str, sized: bool, result: bool) -> str:
    if declared.endswith("?"):
        return f"{annotation(declared[:-1], sized, result)} | None"
    if declared.endswith("[]"):
        inner = annotation(declared[:-2], False, result)
        if result:
            return f"list[{inner}]"
        return f"Sequence[{inner}] | {inner}" if sized else f"Sequence[{inner}]"
    return TYPES.get(declared, "Any")


def parameters(schema: _opgrid.FunctionSchema, method: bool) -> list[str]:
    """The parameters; where integers may be given one by one, that form comes as the second list."""
    parts: list[str] = []
    by_name = False
    for index, argument in enumerate(schema.arguments):
        if method and index == 0:
            continue
        if argument.kwarg_only and not by_name:
            parts.append("*")
            by_name = True
        name = "input" if not method and argument.name == "self" else argument.name
        name = f"{name}_" if keyword.iskeyword(name) else name
        declared = annotation(argument.type, re.search(r"\[\d+\]", repr(argument)) is not None, False)
        if index > 0 and argument.type == "Tensor" and takes_numbers(schema):
            declared = "Tensor | Number"
        parts.append(f"{name}: {declared}{' = ...' if argument.has_default_value() else ''}")
    return parts


def takes_numbers(schema: _opgrid.FunctionSchema) -> bool:
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return _opgrid.overload_named(name).takes_numbers


def signatures(name: str, method: bool) -> list[str]:
    found: list[str] = []
    for overload in _opgrid.function_overloads(name, method):
        schema = overload._schema
        first = schema.arguments[0] if schema.arguments else None
        if method and (first is None or first.name != "self" or first.type != "Tensor"):
            continue
        results = [annotation(result.type, False, True) for result in schema.returns]
        if len(results) == 1 and results[0].startswith("list[Tensor"):
            results = ["tuple[Tensor, ...]"]
        result = {0: "None", 1: results[0] if results else "None"}.get(len(results), f"tuple[{', '.join(results)}]")
        if not results and first is not None and first.type == "Tensor[]" and first.is_write and not first.kwarg_only:
            # A list that was written is given back.
            result = "Sequence[Tensor]"
        if len(results) > 1 and all(one.name for one in schema.returns):
            result = f"return_types.{name}"
            fields = "\n".join(f"    {one.name}: {kind}" for one, kind in zip(schema.returns, results, strict=True))
            RETURN_TYPES[name] = f"class {name}(NamedTuple):\n{fields}"
        parts = parameters(schema, method)
        forms = [parts]
        positional = [argument for argument in schema.arguments[int(method) :] if not argument.kwarg_only]
        if len(positional) == 1 and positional[0].type in ("int[]", "SymInt[]"):
            rest = [part for part in parts[1:] if part != "*"]
            forms.append([f"*{positional[0].name}: _int", *rest])
        for form in forms:
            text = f"def {name}({', '.join([*(['self'] if method else []), *form])}) -> {result}: ..."
            if text not in found:
                found.append(text)
    return found


def stubs(names: list[str], method: bool, indent: str) -> str:
    lines: list[str] = []
    for name in names:
        if keyword.iskeyword(name) or (method and name in vars(og.TensorBase) and not callable_of_registry(name)):
            continue
        # Those of the package itself are in the template.
        if not method and isinstance(getattr(og, name), types.FunctionType | types.ModuleType):
            continue
        texts = signatures(name, method)
        for text in texts:
            if len(texts) > 1:
                lines.append(f"{indent}@overload")
            lines.append(f"{indent}{text}")
    return "\n".join(lines)


def callable_of_registry(name: str) -> bool:
    return type(vars(og.TensorBase)[name]).__name__ == "Method"


def values(module: types.ModuleType) -> str:
    """The dtypes, layouts and memory formats that a module names."""
    kinds = ("dtype", "layout", "memory_format")
    found = [f"{name}: _{kind}" for kind in kinds for name, value in vars(module).items() if type(value).__name__ == kind]
    return "\n".join(found)


def generated() -> dict[pathlib.Path, str]:
    replaced = {
        "# VALUES\n": values(og) + "\n",
        "# VALUES OF THE MODULE\n": values(_opgrid) + "\n",
        "# FUNCTIONS": stubs([name for name in _opgrid.function_names() if not name.startswith("__")], False, ""),
        "    # METHODS": stubs(_opgrid.method_names(), True, "    "),
    }
    files = {}
    for namespace in NAMESPACES:
        known = [name for name in _opgrid.function_names() if name.startswith(namespace)]
        text = (HERE / "namespace.pyi.in").read_text(encoding="utf-8")
        own = stubs(known, False, "").replace(f"def {namespace}", "def ")
        imported = "from .errors import LinAlgError as LinAlgError\n" if namespace == "linalg_" else ""
        files[PACKAGE / f"{namespace[:-1]}.pyi"] = text.replace("# IMPORTS\n", imported).replace("# FUNCTIONS", own)
    replaced["# RETURN TYPES"] = "\n\n".join(RETURN_TYPES[name] for name in sorted(RETURN_TYPES))
    for name in ("__init__.pyi", "_opgrid.pyi", "return_types.pyi"):
        text = (HERE / f"{name}.in").read_text(encoding="utf-8")
        for mark, content in replaced.items():
            text = text.replace(mark, content)
        files[PACKAGE / name] = text
    return files


def main(arguments: list[str]) -> int:
    stale = [path for path, text in generated().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if arguments == ["--check"]:
        for path in stale:
            print(f"{path.name} is not what the registry says; run python/stubs/generate.py")
        return 1 if stale else 0
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
