"""Holds a Python back between its start and its program, which is not written yet.

Python imports a module of this name when it starts, before it looks at its script. This one imports what programs often
use, says that it is ready, and waits for one line on descriptor 3: the variables of the program. Then Python goes on by
itself, so that the program runs exactly as `python3 FILE` runs it. Nothing of this file stays, but that the collector of
garbage does not look at what was there before the program.
"""


def hold_back():
    import gc
    import json
    import os
    import sys

    channel = 3
    folder = os.path.dirname(os.path.abspath(__file__))
    names = os.environ.pop("BELLJAR_IMPORTS", "").split()
    os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    for name in names:
        try:
            __import__(name)
        except Exception:  # noqa: S110
            pass  # The program meets the same, if it needs the module.
    # A Python that ends looks through all its objects for cycles, which takes most of its end. No program made these.
    if hasattr(gc, "freeze"):
        gc.freeze()
    try:
        os.write(channel, b"ready\n")
        line = b""
        while not line.endswith(b"\n"):
            read = os.read(channel, 1 << 18)
            if not read:
                os._exit(0)  # Belljar is gone, or needs this Python no more.
            line += read
    except OSError:
        os._exit(0)
    os.close(channel)
    os.environ.update(json.loads(line))
    stay_away(sys)


def stay_away(sys):
    """The distribution's own module of this name comes in this one's place, as if this one had never been."""
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError:
        this.__dict__.clear()  # Python's loader needs a module there.
        sys.modules["sitecustomize"] = this


hold_back()
