"""Files that survive a crash: written whole, or grown line by line, by one process at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from gecjury.errors import OutputError

OPEN_FILES_STAY = sys.platform == "win32"
"""True where the system neither renames nor removes an open file, nor shows what is locked."""


def unwritable(path: str | Path, error: OSError) -> OutputError:
    """Return the error for a file that cannot be written."""
    return OutputError(f"{path}: cannot be written ({error.strerror or error})")


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, on systems that can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def whole_file(
    path: Path, unfinished: Path | None = None, *, synced: bool = True
) -> Iterator[IO[bytes]]:
    """Open a file that stands in its place, whole, once the context has ended, or not at all.

    Args:
        path: the path of the file; what stood there before stays until then.
        unfinished: folder of the unfinished file, in the same file system; by default that of
            `path`.
        synced: True if the file is on the disk at the end, even if the machine loses power then.

    Raises:
        OutputError: it cannot be written, or its folder not be made.
    """
    folder = unfinished or path.parent
    # Two runs that write one file must not write one unfinished file.
    partial = folder / f".{path.name}.{secrets.token_hex(4)}"
    try:
        for needed in (path.parent, folder):
            needed.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
        # Renaming is the one step that a crash cannot leave half done.
        partial.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    if synced:
        sync_folder(path.parent)


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file; they are on the disk when this returns.

    Raises:
        OSError: they cannot be written.
    """
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def lock(file: IO[Any], *, wait: bool, beside: bool = OPEN_FILES_STAY) -> IO[Any] | None:
    """Lock an open file for this process alone.

    The lock binds only those who ask for it. A file system that knows none (some network ones)
    locks nothing: what is written there is as safe as its writers are few.

    Args:
        file: open for writing.
        wait: until another process has let go of it.
        beside: lock an empty file `NAME.lock` in its place, as on Windows, where nobody else can
            read what is locked.

    Returns:
        What holds the lock, the file itself where none is beside it: closing it ends the lock.
        None if another process holds it, which cannot be when waiting.

    Raises:
        OSError: the file beside it cannot be made.
    """
    from filelock import lock_descriptor

    held = Path(f"{file.name}.lock").open("ab") if beside else file  # noqa: SIM115  # the caller's
    try:
        if lock_descriptor(held.fileno(), blocking=wait):
            return held
    except OSError:
        return held
    if beside:
        held.close()
    return None


class GrowingFile:
    """A file that only grows, held by this process alone; what was appended is on the disk.

    Attributes:
        path: the path of the file.
        size: bytes that it has, as far as this process knows.
    """

    def __init__(self, path: Path, *, busy: str, lost: str) -> None:
        """Open or make the file, and lock it.

        Args:
            path: the path of the file, whose folder is made as well.
            busy: message if another process holds the file.
            lost: message if a line cannot be appended.

        Raises:
            OutputError: it is held by another process, or cannot be written.
        """
        self.path, self._lost = path, lost
        if path.exists() and not path.is_file():
            # Opening a pipe would wait for somebody who reads it.
            raise OutputError(f"{path}: cannot be written (it is no file); move it away")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                # Not buffered: a line is written by a call of its own, or known not to be.
                self._file = path.open("ab", buffering=0)
                self._held: IO[Any] = self._file
                try:
                    held = lock(self._file, wait=False)
                    if held is None:
                        raise OutputError(f"{path}: {busy}")
                    self._held = held
                    # Another process may have removed or replaced the file in between.
                    if self._in_place():
                        break
                except BaseException:
                    self.close()
                    raise
                self.close()
        except OSError as error:
            raise unwritable(path, error) from None
        self.size = os.fstat(self._file.fileno()).st_size

    def append(self, data: bytes) -> None:
        """Add whole lines; when this returns, they are on the disk.

        Raises:
            OutputError: they cannot be written; what stood there before is as it was.
        """
        before, left = self.size, memoryview(data)
        try:
            while left:
                left = left[os.write(self._file.fileno(), left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # A full disk may have taken half a line.
            with suppress(OutputError):
                self.cut(before)
            raise OutputError(f"{unwritable(self.path, error)}; {self._lost}") from None
        self.size += len(data)
        if not before:
            sync_folder(self.path.parent)

    def cut(self, size: int) -> None:
        """Remove what stands behind a number of bytes.

        Raises:
            OutputError: it cannot be removed.
        """
        try:
            os.ftruncate(self._file.fileno(), size)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from None
        self.size = size

    def is_untouched(self) -> bool:
        """Return whether the file still stands in its place, and nobody else has written to it."""
        return self._in_place() and os.fstat(self._file.fileno()).st_size == self.size

    def _in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except OSError:
            return False

    def close(self, *, remove: bool = False) -> None:
        """Close the file and free its lock.

        Args:
            remove: take the file away before another process can hold it.
        """
        if remove:
            if self._held is not self._file:
                self._file.close()  # Windows removes no open file
            with suppress(OSError):
                self.path.unlink()
        self._file.close()
        self._held.close()
