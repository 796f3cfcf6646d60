"""Ties the kernel to modules that are loaded late: its own, and packages that the user's code imports.

No package is imported from here. A finder waits for some, and does its part as soon as one was loaded.
"""

import sys
from _json import make_scanner

AVAILABLE = {}


class JsonRules:
    """What `json.JSONDecoder` would hand to the scanner, without the modules that it needs."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


SCAN = make_scanner(JsonRules)


def scan_json(text):
    """Returns the value of a text, and whether it was the whole of it."""
    value, end = SCAN(text, 0)
    return value, end == len(text)


def install(cells):
    AVAILABLE["cells"] = cells
    sys.meta_path.insert(0, Finder)
    import builtins

    builtins.display = display
    builtins.input = no_input


def display(*values, **options):
    """Shows each value at once, in the richest form that it has."""
    for value in values:
        show("display", value, options)


def no_input(prompt="", /):
    sys.stdout.write(str(prompt))
    raise EOFError("input() has no one to ask: this code runs without a terminal. Give the value in the code.")


def show(kind, value, options=None):
    from _belljar.display import show_value

    show_value(AVAILABLE["cells"], kind, value, options or {})


def show_figures():
    from _belljar.pictures import show_open_figures

    show_open_figures(AVAILABLE["cells"])


def describe_error(error):
    from _belljar.errors import error_line

    return error_line(error)


def traceback_of(error):
    from _belljar.errors import traceback_text

    return traceback_text(error)


def flush_c_streams():
    """What C code printed lies in buffers of its own. They are reached where ctypes is loaded already."""
    if "ctypes" not in sys.modules:
        return
    try:
        sys.modules["ctypes"].CDLL(None).fflush(None)
    except (AttributeError, OSError):
        pass


def after_linecache(module):
    AVAILABLE["cells"].give_sources(module)


def after_pyplot(module):
    """`plt.show()` shows here and now what is open. The backend only draws."""
    module.show = lambda *args, **options: show_figures()


def after_axes(module):
    from _belljar.e2b_charts import remember_boxes

    remember_boxes(module)


def after_image_show(module):
    """`image.show()` shows the picture here: there is no screen."""

    class Viewer(module.Viewer):
        def show(self, image, **options):
            show("display", image)
            return True

    module.register(Viewer(), -1)


def after_ipython(_module):
    AVAILABLE["cells"].open_shell()


AFTER = {
    "linecache": after_linecache,
    "matplotlib.axes._axes": after_axes,
    "matplotlib.pyplot": after_pyplot,
    "PIL.ImageShow": after_image_show,
    "IPython": after_ipython,
}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in AFTER:
            return None
        spec = find_spec(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                AFTER[name](module)

            spec.loader.exec_module = exec_module
        return spec


def find_spec(name, path=None, target=None):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path, target) if finder is not Finder and hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None
