"""Runs the author's code, once, in a module of its own, and gives the tools that it registered."""

import builtins
import sys

from _belljar import standins
from _belljar.errors import cut, last_line, safe, source_lines
from _belljar.registry import REGISTERED, FastMCP

MODULE = "__tool__"


class Refused(Exception):
    """What an author reads who gave code that holds no tools."""

    def __init__(self, message, line=None):
        super().__init__(message)
        self.message = cut(message)
        self.line = line


class Source:
    """The module's loader: `linecache`, and so `traceback` and `inspect`, take the lines from here."""

    def __init__(self, code):
        self.code = code

    def get_source(self, _name):
        return self.code


class Lines:
    """Gives `linecache` the author's lines when it is imported, and costs nobody else its import.

    It would look for a file of that name in the working folder first. Lines without a time are not looked for.
    """

    def __init__(self, file, code):
        self.file = file
        self.code = code

    def install(self):
        if "linecache" in sys.modules:
            self.fill(sys.modules["linecache"])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name != "linecache":
            return None
        sys.meta_path.remove(self)
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path)
        spec = next((each for each in specs if each is not None), None)
        if spec is not None:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.fill(module)

    def fill(self, module):
        lines = [line + "\n" for line in source_lines(self.code)]
        module.cache[self.file] = (len(self.code), None, lines, self.file)


def file_name(name):
    return "%s.py" % name


def load(request):
    """Returns the tools by the names that calls give."""
    file, code = file_name(request["name"]), request["code"]
    exec(compiled(code, file), make_module(file, code).__dict__)
    return keyed(REGISTERED)


def compiled(code, file):
    try:
        return compile(code[1:] if code.startswith("\ufeff") else code, file, "exec", 0, True)
    except SyntaxError as error:
        raise Refused("SyntaxError: %s" % error.msg, error.lineno) from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise Refused("This is no code that Python can read: %s" % (safe(str, error) or type(error).__name__)) from None


def make_module(file, code):
    """Becomes `__main__` too, where this program stood. Its name is another, so that what stands below `__main__` is not run."""
    module = type(sys)(MODULE)
    module.__file__ = file
    module.__loader__ = Source(code)
    module.__builtins__ = builtins
    module.__dict__.update(standins.given_names(code))
    module.mcp = FastMCP()
    sys.modules[MODULE] = sys.modules["__main__"] = module
    sys.argv = [file]
    Lines(file, code).install()
    standins.install()
    return module


def keyed(tools):
    """By the function's name, or the tool's own where an earlier tool has the function's name."""
    found = {}
    for tool in tools:
        names = [getattr(tool.function, "__name__", ""), tool.name]
        key = next((each for each in names if isinstance(each, str) and each and each not in found), None)
        if key is None:
            raise Refused("Two tools are called %r" % names[0], tool.line)
        found[key] = tool
    return found


def refusal(error, file):
    """Of code that was read, which may have failed at anything."""
    line = last_line(error, file)
    text = safe(str, error)
    if isinstance(error, RecursionError) and line is None:
        return Refused("The types of a tool are nested too deeply, or hold themselves")
    if isinstance(error, SystemExit):
        return Refused("The code ends the process while it is imported, so it has no tools: take out exit()", line)
    if isinstance(error, Refused):
        return Refused(error.message, error.line or line)
    if isinstance(error, ModuleNotFoundError):
        text += ". Name the package that has it in a <requirements> block, or a `# /// script` block"
    return Refused("%s while the code was imported%s" % (type(error).__name__, text and ": " + text), line)
