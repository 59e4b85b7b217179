"""Find the installed library and its headers. Needs nothing but Python, so that
the build of the package can use it."""
from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Iterable, Optional

SYSTEM = (Path(sys.prefix), Path("/usr/local"), Path("/usr"))


def library_below(prefix: Path) -> Optional[Path]:
    """The library of a prefix, or of a source tree that is built in build/, if
    the headers are there, too."""
    folders = ["lib", "lib64", "build"]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        folders.insert(0, "lib/" + multiarch)
    for folder in folders:
        library = prefix / folder / "libpricer.so.0"
        if library.exists() and (prefix / "include" / "pricer.h").exists():
            return library
    return None


def find_prefix(prefixes: Iterable[Path]) -> Optional[Path]:
    """The first of the prefixes that has the library; PRICER_PREFIX in the
    environment takes precedence over all of them."""
    if "PRICER_PREFIX" in os.environ:
        prefixes = [Path(os.environ["PRICER_PREFIX"]).resolve()]
    return next(filter(library_below, prefixes), None)
