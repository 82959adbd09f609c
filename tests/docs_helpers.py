"""Reads docstrings in the format of NumPy and compares them with signatures."""

import ast
import inspect
import re


def entries(lines):
    """The entries ``name : type`` of a section, as name -> type; ``a, b : type`` makes an entry of each."""
    found = {}
    for line in lines:
        if match := re.match(r"(\*{0,2}\w+(?:, \w+)*) : (.+)", line):
            names = match[1].split(", ")
            found |= dict.fromkeys(names, match[2])
            if "default=" in match[2] and len(names) > 1:
                kind, _, values = match[2].partition("default=")
                found |= {
                    name: f"{kind}default={value!r}"
                    for name, value in zip(names, ast.literal_eval(f"({values})"), strict=True)
                }
    return found


def sections(docstring):
    """The sections of a docstring by their underlined titles, each as a list of lines."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found, title = {}, ""
    for number, line in enumerate(lines):
        if set(line) == {"-"} and number:
            title = lines[number - 1]
            found[title] = []
        else:
            found.setdefault(title, []).append(line)
    return found


def faults_in_parameters(function, documented):
    """What a section of parameters gets wrong about a signature."""
    faults = []
    parameters = {n: p for n, p in inspect.signature(function).parameters.items() if n not in ("self", "cls")}
    faults += [f"{name} is not documented" for name in parameters if name not in documented]
    faults += [f"{name} is documented but does not exist" for name in documented if name not in parameters]
    for name, parameter in parameters.items():
        _, states_default, stated = documented.get(name, "").partition("default=")
        if name not in documented:
            continue
        if parameter.default is parameter.empty:
            faults += [f"{name} has no default, but one is documented"] if states_default else []
        elif not states_default:
            faults.append(f"the default of {name}, {parameter.default!r}, is not documented")
        elif ast.literal_eval(stated) != parameter.default:
            faults.append(f"the default of {name} is {parameter.default!r}, documented as {stated}")
    return faults
