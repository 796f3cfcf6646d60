"""The beginning of a bundled program, such as the kernel: its modules stand in SOURCES, which the build writes above.

A module is compiled when it is first imported, so a kernel that needs no charts pays nothing for them. The
modules never come from the folder of this file: a kernel outlives an update of Belljar and must not mix two versions.
They keep the built-in functions of the start, whatever the user's code makes of those in `builtins`.
"""

import builtins
import sys

BUILTINS = dict(vars(builtins))


class Modules:
    """Finds and loads `_belljar` and the modules below it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, module = name.partition(".")
        if package != "_belljar" or module not in SOURCES:  # noqa: F821
            return None
        spec = type(sys.__spec__)(name, Modules, is_package=module == "")
        return spec

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__name__.partition(".")[2]
        module.__builtins__ = BUILTINS
        exec(compile(SOURCES.pop(name), "<belljar %s>" % name, "exec", 0, True), module.__dict__)  # noqa: F821


SOURCES[""] = ""  # noqa: F821
sys.meta_path.insert(0, Modules)

from _belljar.main import main  # noqa: E402

if __name__ == "__main__":
    main()
