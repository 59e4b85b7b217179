"""The library as Python sees it: found, opened, called.

Everything here is about the border: which header and which library, a status
that becomes an exception, a watch that becomes progress and Ctrl-C, memory of C
that becomes arrays without a copy.
"""
from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Optional, Union

import cffi
import numpy as np

from . import _find as finding
from . import _header

HEADERS = ("pricer.h", "pricer_crew.h", "pricer_decode.h",
           "pricer_study.h", "pricer_release.h", "pricer_forward.h",
           "pricer_members.h",
           "pricer_audit.h", "pricer_kmeans.h", "pricer_power.h",
           "pricer_reference.h", "pricer_input.h")

Progress = Union[None, bool, Callable[[float], Any]]


# ---------------------------------------------------------------- faults --

class Fault(Exception):
    """What went wrong, in the library's own words; `status` is its number."""

    status = -1


class MemoryFault(Fault, MemoryError):
    """Out of memory."""


class FileFault(Fault, OSError):
    """A file cannot be opened, read or written."""


class FormatFault(Fault, ValueError):
    """A file is not what it should be."""


class ValueFault(Fault, ValueError):
    """A number or name is outside its range."""


class InfeasibleFault(Fault):
    """The request has no solution."""


class BusyFault(Fault):
    """The study is locked by another program."""


class StoppedFault(Fault):
    """Stopped before there was anything to hand out."""


_FAULTS = (Fault, MemoryFault, FileFault, FormatFault, ValueFault,
           InfeasibleFault, BusyFault, StoppedFault)


# --------------------------------------------------------------- finding --

def _find_library() -> tuple[Path, Path]:
    """The folder of the headers, and the library: as PRICER_PREFIX says, where
    they were when pip installed this package, in the prefix or source tree that
    this file is in, or in the system's prefixes."""
    if "PRICER_LIBRARY" in os.environ and "PRICER_INCLUDE" in os.environ:
        return (Path(os.environ["PRICER_INCLUDE"]),
                Path(os.environ["PRICER_LIBRARY"]))
    prefixes = [*list(Path(__file__).resolve().parents)[1:5], *finding.SYSTEM]
    try:
        from ._prefix import PREFIX  # written by pip install

        prefixes.insert(0, Path(PREFIX))
    except ImportError:
        pass
    prefix = finding.find_prefix(prefixes)
    library = prefix and finding.library_below(prefix)
    if not prefix or not library:
        raise ImportError("libpricer is not installed: ./run install PREFIX "
                          "does it, and PRICER_PREFIX=PREFIX says where it is")
    return prefix / "include", library


include, path = _find_library()
ffi = cffi.FFI()
for _name in HEADERS:
    ffi.cdef(_header.declarations((include / _name).read_text("utf-8")))
lib: Any = ffi.dlopen(str(path))
version: str = ffi.string(lib.pricer_version()).decode()
if version != _header.version((include / "pricer.h").read_text("utf-8")):
    raise ImportError(f"{path} is of version {version}, the headers in "
                      f"{include} are not")


# --------------------------------------------------------------- calling --

def call(function: Any, *arguments: Any) -> None:
    """Call a function that ends with a fault; raise it if there is one."""
    fault = ffi.new("struct pricer_fault *")
    status = function(*arguments, fault)
    if status == lib.PRICER_OK:
        return
    text = ffi.string(fault.text).decode("utf-8", "replace")
    error = _FAULTS[min(status, len(_FAULTS) - 1)](text or status_text(status))
    error.status = status
    raise error


def status_text(status: int) -> str:
    """What a status means, in a few words."""
    return ffi.string(lib.pricer_status_text(status)).decode()


class Watch:
    """Progress and Ctrl-C for one long call.

    The library asks now and then, from the thread that called it, whether to go
    on; that is when Python looks at its signals. An exception, also the
    KeyboardInterrupt, stops the work and is raised again when it has stopped. A
    `progress` function that returns False stops it and gets what there is.
    """

    def __init__(self, progress: Progress) -> None:
        self.error: Optional[BaseException] = None
        show = _show if progress is True else progress

        def tick(_context: Any, done: float) -> bool:
            return not (show and show(done) is False)

        def onerror(_kind: Any, error: BaseException, _trace: Any) -> bool:
            self.error = error
            return False

        self._tick = ffi.callback("bool(void *, double)", tick, error=False,
                                  onerror=onerror)
        self.pointer = ffi.new("struct pricer_watch *", {"tick": self._tick})

    def call(self, function: Any, *arguments: Any) -> None:
        """Call under this watch; what its callback raised comes first."""
        try:
            call(function, *arguments)
        finally:
            if self.error is not None:
                error, self.error = self.error, None
                raise error


def _show(done: float) -> None:
    """How far it is, on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if done >= 1 else ""
        print(f"\r{100 * done:3.0f} %", end=end, file=sys.stderr, flush=True)


_blas = cffi.FFI()
_blas.cdef("void openblas_set_num_threads(int); "
           "int openblas_get_num_threads(void);")


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """OpenBLAS with one thread of its own, as functions ask for whose result is
    not to depend on the machine; afterwards as before."""
    blas: Any = _blas.dlopen(str(path))
    before = blas.openblas_get_num_threads()
    blas.openblas_set_num_threads(1)
    try:
        yield
    finally:
        blas.openblas_set_num_threads(before)


# ----------------------------------------------------------------- words --

def word(vocabulary: str, value: int) -> str:
    """The name of a value of an enumeration, such as word("bias", 0)."""
    text = lib.pricer_word(_vocabulary(vocabulary), value)
    if text == ffi.NULL:
        raise ValueFault(f"{vocabulary} has no value {value}")
    return ffi.string(text).decode()


def find_word(vocabulary: str, name: str, argument: str = "") -> int:
    """The value of a name, such as find_word("bias", "l1"). `argument` is what
    an error calls it if not by its vocabulary."""
    value = lib.pricer_word_find(_vocabulary(vocabulary), str(name).encode())
    if value < 0:
        raise ValueFault(f"{argument or vocabulary} = {name!r} is none of "
                         + ", ".join(_names(vocabulary)))
    return value


def _vocabulary(name: str) -> int:
    return getattr(lib, "PRICER_WORDS_" + name.upper())


def _names(vocabulary: str) -> Iterator[str]:
    value = 0
    while (text := lib.pricer_word(_vocabulary(vocabulary), value)) != ffi.NULL:
        yield ffi.string(text).decode()
        value += 1


# ---------------------------------------------------------------- arrays --

class _Memory:
    """Memory of C as NumPy asks for it; its owner lives as long as it does."""

    def __init__(self, owner: Any, pointer: Any, shape: tuple[int, ...],
                 dtype: np.dtype) -> None:
        self.owner = owner
        interface = {"version": 3, "shape": shape, "typestr": dtype.str,
                     "data": (int(ffi.cast("uintptr_t", pointer)), True)}
        if dtype.fields:
            interface["typestr"] = f"|V{dtype.itemsize}"
        self.__array_interface__ = interface


def view(owner: Any, pointer: Any, shape: Union[int, tuple[int, ...]],
         dtype: Any) -> np.ndarray:
    """An array to read from, on memory that `owner` keeps; no copy."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    dtype = np.dtype(dtype)
    if 0 in shape or pointer == ffi.NULL:
        return np.empty(shape if 0 in shape else 0, dtype)
    array = np.asarray(_Memory(owner, pointer, shape, dtype))
    return array.view(dtype) if dtype.fields else array


def given(values: Any, dtype: Any, count: Optional[int] = None,
          name: str = "array") -> np.ndarray:
    """A user's numbers as the library reads them: not copied where they are an
    array of that type in one piece. A single number is that of all `count`.
    Errors call the numbers by `name`, the argument."""
    try:
        values = np.asarray(values)
        with np.errstate(invalid="ignore"):  # what does not fit fails below
            array = np.ascontiguousarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueFault(f"{name}: {error}") from None
    if np.dtype(dtype).kind == "i":
        refuse(name, values, array != values, "is not a whole number of 32 bits")
    if values.ndim == 0:
        return np.full(1 if count is None else count, array, dtype)
    if count is not None and array.shape != (count,):
        raise ValueFault(f"{name} has shape {array.shape} where {count} "
                         "numbers are needed")
    return array


def refuse(name: str, values: Any, wrong: Any, why: str) -> None:
    """Raise a fault about the first of the values that is wrong, if any is."""
    places = np.argwhere(wrong)
    if len(places) == 0:
        return
    values = np.asarray(values)
    place = tuple(places[0]) if values.ndim else ()
    index = f"[{', '.join(map(str, place))}]" if place else ""
    raise ValueFault(f"{name}{index} = {values[place]} {why}")


def shaped(values: Any, dtype: Any, shape: tuple[int, ...],
           name: str) -> np.ndarray:
    """A user's numbers of a shape that has to be right."""
    array = given(values, dtype, name=name)
    if array.shape != shape:
        raise ValueFault(f"{name} has shape {array.shape} where {shape} is "
                         "needed")
    return array


def struct(kind: str, fields: Mapping[str, Any]) -> Any:
    """A struct pricer_KIND with some fields set; what does not fit is an error
    that names the field."""
    made = ffi.new(f"struct pricer_{kind} *")
    for name, value in fields.items():
        try:
            setattr(made, name, value)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"{name} = {value!r}: {error}") from None
    return made


def address(array: Optional[np.ndarray], kind: str) -> Any:
    """The address of an array's numbers, or NULL."""
    return ffi.NULL if array is None else ffi.from_buffer(kind, array)


def layout(kind: str) -> np.dtype:
    """The dtype of a C struct of plain numbers, field by field."""
    codes = {"double": "f8", "int32_t": "i4", "int64_t": "i8", "_Bool": "?",
             "uint64_t": "u8"}
    fields = ffi.typeof(kind).fields
    names = [name for name, _ in fields]
    formats = [codes.get(field.type.cname, "i4") for _, field in fields]
    return np.dtype({"names": names, "formats": formats,
                     "offsets": [field.offset for _, field in fields],
                     "itemsize": ffi.sizeof(kind)})


def numbers(made: Any) -> dict[str, Any]:
    """The plain numbers of a struct by name; enumerations as their value."""
    found = {}
    for name, field in ffi.typeof(made[0]).fields:
        if field.type.kind in ("primitive", "enum"):
            found[name] = getattr(made, name)
    return found
