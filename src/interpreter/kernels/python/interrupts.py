"""SIGINT ends the user's code and never the kernel's own.

The handler looks where the interpreter stands. In the shielded modules it only takes a note: a line on the channel is
never half written, and no step of a run is left out. The note is delivered where they return to the user's code, or come to it
for the first time in a run, or between two parts of it.
"""

import _signal
import _thread

SHIELDED = frozenset("<belljar %s>" % name for name in ("main", "channel", "output", "interrupts"))
MAIN_THREAD = _thread.get_ident()

running = False
armed = False
pending = False


def install():
    """Also after each run: the user's code may have set a handler of its own."""
    _signal.signal(_signal.SIGINT, on_interrupt)


def on_interrupt(_number, frame):
    global pending
    if not armed:
        pending = running
        return
    if frame is not None and frame.f_code.co_filename in SHIELDED and frame.f_code is not guarded.__code__:
        pending = True
        return
    raise KeyboardInterrupt


def begin():
    """From here on an interrupt is for the run, though none of its code has begun."""
    global running, pending
    running, pending = True, False


def end():
    """What is still done for the run is interrupted part by part."""
    global running, pending
    running, pending = False, False


def deliver():
    """Raises what was noted. Called last by shielded functions that the user's code may call."""
    global pending
    if pending and armed and _thread.get_ident() == MAIN_THREAD:
        pending = False
        raise KeyboardInterrupt


def guarded(function, args):
    deliver()
    return function(*args)


def attempt(function, *args):
    """Calls what may be interrupted. Returns its value and None, or None and what it raised."""
    global armed, pending
    armed = True
    try:
        return guarded(function, args), None
    except BaseException as error:
        return None, error
    finally:
        armed = False
        if not running:
            pending = False
