"""Files that survive a crash: written whole, or grown line by line, by one process at a time."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from gecjury.core.errors import OutputError
from gecjury.core.textfiles import NO_WAIT, wait_again

OPEN_FILES_STAY = sys.platform == "win32"
"""True if the system (Windows) does not rename or remove open files, nor read locked ones."""


def unwritable(path: str | Path, error: OSError) -> OutputError:
    """Return the error for a file that cannot be written."""
    return OutputError(f"{path}: cannot be written ({error.strerror or error})")


def check_place(path: str | Path) -> None:
    """Check that a file can be written, before long work starts; an existing file is kept.

    Raises:
        OutputError: the path is a folder, or its folder does not exist or cannot be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise OutputError(f"{path}: this is a folder; give the name of a file")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise unwritable(path, error) from None


def full_disk(error: BaseException | None) -> OSError | None:
    """Return the error of a full disk or a used-up quota that caused an error, or None."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return error
        error = error.__cause__ or error.__context__
    return None


def refuse_linked_folders(folder: Path) -> None:
    """Refuse a folder of results in which a folder is a link: files would be written elsewhere.

    Raises:
        OutputError: names the link.
    """
    entries = folder.iterdir() if folder.is_dir() else ()
    if link := next((entry for entry in entries if entry.is_symlink() and entry.is_dir()), None):
        raise OutputError(
            f"{link}: is a link to another folder, where results would be written; remove it, or "
            "name another folder"
        )


def private(path: str, flags: int) -> int:
    """Open a file that only this account may read if it is new: an opener for `open`."""
    return os.open(path, flags, 0o600)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, on systems that support it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def whole_file(
    path: Path, unfinished: Path | None = None, *, synced: bool = True, follow: bool = False
) -> Iterator[IO[bytes]]:
    """Open a file that appears in its place only when the context ends: complete or not at all.

    Args:
        path: the path of the file; an existing file stays until then.
        unfinished: folder of the unfinished file, in the same file system; by default that of
            `path`.
        synced: True if the file is on the disk at the end, even if the machine loses power then.
        follow: True to write to the target of a link, as a shell redirection does: for a file that
            the user named. In a folder, which may come from somebody else, a link is replaced.

    Raises:
        OutputError: it cannot be written, or its folder cannot be created.
    """
    if follow:
        path = Path(os.path.realpath(path))
    folder = unfinished or path.parent
    # Two runs that write the same file must not share one unfinished file.
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


def write_text(path: str | Path, text: str, *, follow: bool = False) -> None:
    """Write a whole file or nothing: a failure leaves the existing file unchanged.

    A device or a pipe (`/dev/stdout`, `>(less)`) is written to, never replaced by a file.

    Args:
        follow: True to write to the target of a link; see `whole_file`.

    Raises:
        OutputError: the folder cannot be created or the file cannot be written.
    """
    if not str(path) or "\0" in str(path):
        raise OutputError(f"{str(path)!r} is not a file name; give the path of a file")
    target = Path(path)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OutputError(
            f"{path}: cannot be written as UTF-8 ({text[error.start : error.end]!r} is not text); "
            "a file name that is not UTF-8 leads to this: rename the file"
        ) from None
    if not _is_special(target):
        with whole_file(target, synced=False, follow=follow) as file:
            file.write(data)
        return
    # A device or a pipe is written to: replacing /dev/null by a file would do harm.
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | NO_WAIT), "wb") as file:
            wait_again(file.fileno())
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from None


def _is_special(target: Path) -> bool:
    """Return True if a path is a device or a pipe, or below /dev or /proc."""
    parts = target.absolute().parts
    if parts[1:2] in (("dev",), ("proc",)) and parts[1:3] != ("dev", "shm"):
        return True
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file; they are on the disk when this returns.

    Raises:
        OSError: they cannot be written.
    """
    with open(path, "ab", opener=private) as file:  # pathlib has no opener
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def lock(file: IO[Any], *, beside: bool = OPEN_FILES_STAY) -> IO[Any] | None:
    """Lock an open file for this process alone.

    The lock is advisory. A file system without locks (some network ones) locks nothing: files there
    are safe only with a single writer.

    Args:
        file: open for writing.
        beside: lock an empty file `NAME.lock` instead, as on Windows, where no other process can
            read a locked file.

    Returns:
        The file that holds the lock, `file` itself or `NAME.lock`: closing it releases the lock.
        None if another process holds it.

    Raises:
        OSError: `NAME.lock` cannot be created.
    """
    from filelock import lock_descriptor

    held = Path(f"{file.name}.lock").open("ab") if beside else file  # noqa: SIM115  # the caller's
    try:
        if lock_descriptor(held.fileno(), blocking=False):
            return held
    except OSError:
        return held
    if beside:
        held.close()
    return None


class GrowingFile:
    """A file that only grows, locked by this process; appended lines are on the disk.

    Only this account can read a new one, since answers quote learners' texts.

    Attributes:
        path: the path of the file.
        size: its size in bytes, as far as this process knows.
    """

    def __init__(self, path: Path, *, busy: str, lost: str) -> None:
        """Open or create the file, and lock it.

        Args:
            path: the path of the file, whose folder is created as well.
            busy: message if another process has locked the file.
            lost: message if a line cannot be appended.

        Raises:
            OutputError: another process has locked it, or it cannot be written.
        """
        self.path, self._lost = path, lost
        if path.exists() and not path.is_file():
            # Opening a pipe would wait for a reader.
            raise OutputError(f"{path}: cannot be written (it is not a file); move it away")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                # Not buffered: each line is written by its own call, which either succeeds or
                # raises.
                self._file = open(path, "ab", buffering=0, opener=private)  # noqa: SIM115
                self._held: IO[Any] = self._file
                try:
                    held = lock(self._file)
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
            OutputError: they cannot be written; the earlier content is unchanged.
        """
        before, left = self.size, memoryview(data)
        try:
            while left:
                left = left[os.write(self._file.fileno(), left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # A full disk may have accepted half a line.
            with suppress(OutputError):
                self.cut(before)
            raise OutputError(f"{unwritable(self.path, error)}; {self._lost}") from None
        self.size += len(data)
        if not before:
            sync_folder(self.path.parent)

    def cut(self, size: int) -> None:
        """Truncate the file to a number of bytes.

        Raises:
            OutputError: it cannot be truncated.
        """
        try:
            os.ftruncate(self._file.fileno(), size)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from None
        self.size = size

    def is_untouched(self) -> bool:
        """Return whether the file is still in its place, and no one else has written to it."""
        return self._in_place() and os.fstat(self._file.fileno()).st_size == self.size

    def _in_place(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except OSError:
            return False

    def close(self, *, remove: bool = False) -> None:
        """Close the file and free its lock.

        Args:
            remove: remove the file before another process can lock it.
        """
        if remove:
            if self._held is not self._file:
                self._file.close()  # Windows cannot remove an open file
            with suppress(OSError):
                self.path.unlink()
        self._file.close()
        self._held.close()
