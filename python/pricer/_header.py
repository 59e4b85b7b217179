"""From the text of a C header to declarations that cffi reads."""
from __future__ import annotations

import re


def declarations(text: str) -> str:
    """What a public header declares, without what is for compilers only.

    Comments, includes, the C++ guards and the export mark go; a constant that
    is a number stays, as cffi understands it.
    """
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#\s*ifdef\s+__cplusplus.*?^#\s*endif", "", text,
                  flags=re.S | re.M)
    text = re.sub(r"^#\s*if\s+defined.*?^#\s*endif", "", text,
                  flags=re.S | re.M)
    numbers = re.findall(r"^#\s*define\s+(\w+)\s+\(?(-?\d+)\)?\s*$", text,
                         flags=re.M)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    text = re.sub(r"\bPRICER_API\b", "", text)
    return "".join(f"#define {name} {value}\n" for name, value in numbers) + text


def functions(text: str) -> list[str]:
    """The names of the functions that a header declares."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", " ", text, flags=re.S | re.M)
    return re.findall(r"\bPRICER_API\b[^;(]*?(\w+)\(", text)


def version(text: str) -> str:
    """The version that a header is of."""
    found = re.search(r'#define PRICER_VERSION "([^"]*)"', text)
    return found.group(1) if found else ""
