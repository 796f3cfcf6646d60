"""Answers one order after another, each in a child of its own: what the code of one does is gone with it."""

import sys
from os import O_RDONLY, _exit, close, dup2, fork, read, waitpid
from os import open as open_file

from _belljar.channel import write_all

READ_SIZE = 1 << 20
MARK_LENGTH = 32
DIGITS = frozenset(b"0123456789abcdef")


# What most orders need, loaded once.
NEEDED = ("_belljar.call", "_belljar.context", "_belljar.convert")
# What the code of a session is likely to need, by words in it. Each module that is there makes every fork slower.
LIKELY = {
    "asyncio": (b"async",),
    "dataclasses": (b"dataclass",),
    "enum": (b"enum", b"Enum"),
    "typing": (b"typing", b"Annotated", b"Literal", b"Optional", b"TypedDict"),
}


def serve_orders(channel, serve):
    """A line is an order: a mark of the host's, a blank and the request. After its child the mark stands on all that it writes to."""
    for name in NEEDED:
        __import__(name)
    for line in lines_of(channel):
        mark, _, request = line.partition(b" ")
        load_likely(request)
        child = fork()
        if child == 0:
            nothing = open_file("/dev/null", O_RDONLY)
            dup2(nothing, 0)
            close(nothing)
            serve(channel, request)
        del line, request
        status = waitpid(child, 0)[1]
        for descriptor in (1, 2, channel):
            write_all(descriptor, b"%s %05d" % (mark, status))
    _exit(0)


def load_likely(request):
    for name, words in LIKELY.items():
        if name not in sys.modules and any(word in request for word in words):
            __import__(name)


def lines_of(descriptor):
    """What a child has left unread, such as the answer of a call, is no order."""
    parts = []
    while True:
        part = read(descriptor, READ_SIZE)
        if not part:
            return
        *ended, rest = part.split(b"\n")
        for end in ended:
            line = b"".join(parts) + end
            parts = []
            if line[MARK_LENGTH : MARK_LENGTH + 1] == b" " and DIGITS.issuperset(line[:MARK_LENGTH]):
                yield line
        if rest:
            parts.append(rest)
