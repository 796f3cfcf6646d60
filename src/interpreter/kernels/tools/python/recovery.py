"""After the user's code: takes back what it may have left that changes how this program runs."""

import sys

set_recursion_limit, set_trace, set_profile = sys.setrecursionlimit, sys.settrace, sys.setprofile
recursion_limit = sys.getrecursionlimit()


def recover():
    set_trace(None)
    set_profile(None)
    try:
        set_recursion_limit(recursion_limit)
    except Exception:  # noqa: S110
        pass  # The stack is deeper than that: the limit was set higher, and does not hinder.


def flush_prints():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:  # noqa: S110
            pass  # The user's code closed or replaced it.
