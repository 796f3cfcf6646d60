"""Holds a Python back between its start and its program, which is not written yet.

Python imports a module of this name when it starts, before it looks at its script. This one imports what programs often
use, says that it is ready, and waits for the variables of the program on descriptor 3: eight digits, which are the size
of the JSON behind them. Then Python goes on by itself, so that the program runs exactly as `python3 FILE` runs it.
Nothing of this file stays, but that the collector of garbage does not look at what was there before the program.

The JSON may have the arguments of the harness of users' tools instead. Then that goes on, which was loaded meanwhile.
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
    harness = os.path.join(folder, "python-tools.py")
    tools = load_tools(harness, sys)
    # A Python that ends looks through all its objects for cycles, which takes most of its end. No program made these.
    if hasattr(gc, "freeze"):
        gc.freeze()
    try:
        os.write(channel, b"ready\n")
        size = read_exactly(channel, 8, os)
        wish = json.loads(read_exactly(channel, int(size), os))
    except OSError:
        os._exit(0)
    os.environ.update(wish["env"])
    if "tool" in wish:
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        if tools is None or are_hiding(paths, os, sys):
            os.execv(sys.executable, [sys.executable, harness] + wish["tool"])  # noqa: S606
        be_harness(tools, wish["tool"], paths, sys)
    os.close(channel)
    stay_away(sys)


def read_exactly(channel, size, os):
    """What comes behind it is an order, for whoever reads next."""
    parts = []
    while size > 0:
        read = os.read(channel, size)
        if not read:
            os._exit(0)  # Belljar is gone, or needs this Python no more.
        parts.append(read)
        size -= len(read)
    return b"".join(parts)


def load_tools(harness, sys):
    """The modules of the harness and what finds them, out of the way of other programs. None where this Python cannot read them."""
    finders = list(sys.meta_path)
    try:
        with open(harness, encoding="utf-8") as file:
            exec(compile(file.read(), harness, "exec", 0, True), {"__name__": "_belljar"})
        for name in ("call", "context", "convert", "main"):
            __import__("_belljar." + name)
    except Exception:
        return None
    finally:
        found = [finder for finder in sys.meta_path if finder not in finders]
        sys.meta_path[:] = finders
        modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "_belljar"}
    return found, modules


def are_hiding(paths, os, sys):
    """Whether a folder that is looked into first has a module of the name of one that is there already, from elsewhere."""
    there = {name.partition(".")[0] for name in sys.modules}
    for path in paths:
        try:
            names = os.listdir(path)
        except OSError:
            continue
        if not there.isdisjoint(name.partition(".")[0] for name in names):
            return True
    return False


def be_harness(tools, arguments, paths, sys):
    """Never returns. As for the tool, Python has started: another thread that imports `site` does not wait for its end."""
    finders, modules = tools
    sys.meta_path[:0] = finders
    sys.modules.update(modules)
    sys.path[:0] = paths
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError:
        pass
    for module in (this, sys.modules.get("site")):
        spec = getattr(module, "__spec__", None)
        if spec is not None:
            spec._initializing = False
    sys.path.insert(0, "")
    modules["_belljar.main"].begin(arguments == ["orders"])


def stay_away(sys):
    """The distribution's own module of this name comes in this one's place, as if this one had never been."""
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError:
        this.__dict__.clear()  # Python's loader needs a module there.
        sys.modules["sitecustomize"] = this


hold_back()
