"""Build the package for pip (PEP 517): a wheel is a zip file of the modules.

Nothing is compiled and nothing is written next to the sources, so neither
setuptools nor wheel is needed. The wheel remembers the prefix that has the
library: PRICER_PREFIX, Python's own, /usr/local, /usr, or this source tree.
"""
from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Mapping, Optional

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
Settings = Optional[Mapping[str, Any]]

# Python has stored this file's bytecode next to it, and would that of others.
sys.dont_write_bytecode = True
if __cached__:
    Path(__cached__).unlink(missing_ok=True)
    try:
        Path(__cached__).parent.rmdir()
    except OSError:
        pass  # is not empty, or not there


def build_wheel(wheel_directory: str, config_settings: Settings = None,
                metadata_directory: Optional[str] = None) -> str:
    """Write a wheel with all modules and, where a library is found, its
    prefix."""
    files = {f"pricer/{path.name}": path.read_bytes() for path in _modules()}
    prefix = _find_prefix()
    if prefix is not None:
        print(f"the library is that of {prefix}")
        text = ('"""Where the library was when pip installed the package."""\n'
                f"PREFIX = {str(prefix)!r}\n")
        files["pricer/_prefix.py"] = text.encode()
    else:
        print("no library was found: PRICER_PREFIX=PREFIX says where it is")
    return _write_wheel(wheel_directory, files)


def build_editable(wheel_directory: str, config_settings: Settings = None,
                   metadata_directory: Optional[str] = None) -> str:
    """Write a wheel that makes Python import the package from here."""
    return _write_wheel(wheel_directory, {"pricer.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write an archive of the sources."""
    project = _project()
    name = f"{project['name']}-{project['version']}"
    paths = [HERE / "pyproject.toml", HERE / "backend.py", *_modules()]
    with tarfile.open(os.path.join(sdist_directory, name + ".tar.gz"), "w:gz",
                      format=tarfile.PAX_FORMAT) as archive:
        for path in paths:
            archive.add(path, f"{name}/{path.relative_to(HERE).as_posix()}")
        text = _metadata(project)
        info = tarfile.TarInfo(name + "/PKG-INFO")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    return name + ".tar.gz"


def _project() -> Mapping[str, Any]:
    return tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]


def _modules() -> list[Path]:
    """The files of the package; _prefix.py is of an installation."""
    folder = HERE / "pricer"
    return sorted(path for path in (*folder.glob("*.py"), folder / "py.typed")
                  if path.name != "_prefix.py")


def _find_prefix() -> Optional[Path]:
    """Search as the package does, without importing it."""
    spec = importlib.util.spec_from_file_location(
        "_find", HERE / "pricer" / "_find.py")
    finding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(finding)
    found = finding.find_prefix([*finding.SYSTEM, HERE.parent])
    asked = os.environ.get("PRICER_PREFIX")
    if asked and not (found and os.path.isabs(asked)):  # pip has moved here
        raise FileNotFoundError(f"PRICER_PREFIX={asked} is not an absolute path "
                                "to a prefix with include/pricer.h and the "
                                "library")
    return found


def _metadata(project: Mapping[str, Any]) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}",
             f"Version: {project['version']}",
             f"Summary: {project['description']}",
             f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {need}" for need in project["dependencies"])]
    return ("\n".join(lines) + "\n").encode()


def _write_wheel(folder: str, files: Mapping[str, bytes]) -> str:
    project = _project()
    name = f"{project['name']}-{project['version']}"
    about = name + ".dist-info/"
    contents = {**files, about + "METADATA": _metadata(project),
                about + "WHEEL": b"Wheel-Version: 1.0\nGenerator: pricer\n"
                b"Root-Is-Purelib: true\nTag: py3-none-any\n"}
    record = []
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        record.append(f"{path},sha256={digest.decode().rstrip('=')},{len(data)}")
    record.append(about + "RECORD,,")
    contents[about + "RECORD"] = ("\n".join(record) + "\n").encode()
    wheel = name + "-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w",
                         zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
    return wheel
