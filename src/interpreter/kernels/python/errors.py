"""Errors as text: plain, bounded, and with the frames of the user's code only."""

import sys
from _json import encode_basestring_ascii as quote
from traceback import TracebackException

LONGEST_MESSAGE = 1 << 16
LONGEST_TRACEBACK = 1 << 17
MOST_FRAMES = 1000


def error_line(error):
    name = quote(type(error).__name__)
    message = quote(cut(message_of(error), LONGEST_MESSAGE))
    return '{"type":"error","name":%s,"message":%s,"traceback":%s}' % (name, message, quote(traceback_text(error)))


def message_of(error):
    try:
        return str(error)
    except Exception as failed:
        return "its text cannot be made: %s" % type(failed).__name__


def traceback_text(error, may_be_outside=False):
    """`may_be_outside` keeps the frames of an error that stands in no cell, as that of a script which a magic ran."""
    shown = TracebackException(type(error), error, error.__traceback__, limit=MOST_FRAMES)
    if not may_be_outside and not any(is_cell(frame) for frame in shown.stack):
        shown.stack.clear()  # It came between the lines of the user's code.
    keep_users_frames(shown, set())
    return cut("".join(shown.format()), LONGEST_TRACEBACK)


def keep_users_frames(shown, seen):
    """Leaves out what is above the first cell, and the kernel's own functions wherever they stand."""
    if shown is None or id(shown) in seen:
        return
    seen.add(id(shown))
    stack = shown.stack
    cells = [index for index, frame in enumerate(stack) if is_cell(frame)]
    start = cells[0] if cells else 0
    stack[:] = [frame for frame in stack[start:] if not frame.filename.startswith("<belljar ")]
    for other in (shown.__cause__, shown.__context__, *(getattr(shown, "exceptions", None) or ())):
        keep_users_frames(other, seen)


def is_cell(frame):
    return frame.filename.startswith(("<cell ", "<ipython-input-"))


def cut(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - limit, text[-half:])
