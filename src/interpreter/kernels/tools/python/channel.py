"""The way to the host: one JSON object a line, each with the request's token."""

import fcntl
from _thread import RLock
from os import _exit, close, getpid, read, register_at_fork, set_blocking, urandom, write

from _belljar.json_text import LONGEST_LINE, encode, parse

LOWEST, SURE = 64, 10
READ_SIZE = 1 << 18


def open_channel(descriptor, token):
    """Returns the function that sends a message, and returns False for one that is too long.

    What is written to well-known descriptors, and by children and programs, does not reach the channel.

    The token and the descriptor are in the cells of that function alone. Code that digs for them finds them, and can
    spoil its own answer only.
    """
    moved = move(descriptor)
    owner, lock, asking = getpid(), RLock(), RLock()
    register_at_fork(after_in_child=lambda: close_quietly(moved))

    def send(message):
        # The first line end closes what the user's code may have written there itself.
        line = b"\n%s\n" % encode(dict(message, token=token))
        if len(line) > LONGEST_LINE:
            return False
        if getpid() == owner:
            with lock:
                write_all(moved, line)
        return True

    def ask(message):
        """Sends a message, and waits for the host's line. One at a time: the host answers in order."""
        if getpid() != owner:
            raise RuntimeError("A process that the tool forked calls no tools")
        with asking:
            if not send(message):
                raise ValueError("The arguments are longer than the 8 MiB that a call may have")
            return parse(read_line(moved).decode("utf-8"))

    send.ask = ask
    return send


def read_line(descriptor):
    """The host sends nothing but what was asked for, so nothing comes behind the line."""
    parts = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = read(descriptor, READ_SIZE)
        if not part:
            _exit(1)  # The host is gone.
        parts.append(part)
    return b"".join(parts)


def write_all(descriptor, line):
    left = memoryview(line)
    try:
        while left:
            left = left[write(descriptor, left) :]
    except OSError:
        _exit(1)  # The host is gone, or the user's code closed the channel: nobody can be told.


def move(descriptor):
    set_blocking(descriptor, True)
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST + urandom(1)[0])
    except (OSError, ValueError):
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, SURE)  # There may be few descriptors.
    close(descriptor)
    return moved


def close_quietly(descriptor):
    try:
        close(descriptor)
    except OSError:
        pass
