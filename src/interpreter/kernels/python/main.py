"""The loop: a line comes, its code is run, what it says goes back."""

import builtins
import faulthandler
import os
import sys
from _json import encode_basestring_ascii as quote

from _belljar import cells, hooks, interrupts
from _belljar.channel import Channel
from _belljar.output import Output, Stream, write_all

STDOUT, STDERR = 1, 2
HEX = frozenset("0123456789abcdef")
SIMPLE = frozenset((int, float, bool, complex))


def main():
    interrupts.install()
    try:
        channel = Channel()
    except OSError:
        sys.exit("This program is started by Belljar, which talks with it over descriptor 3")
    stderr = sys.stderr
    try:
        kernel = Kernel(channel, make_namespace())
        for line in channel.lines():
            request = parse_request(line)
            if request is not None:
                kernel.handle(request)
    except BaseException:
        sys.stderr = stderr  # The channel is no place for a fault of the kernel's own: the host reads the pipe.
        raise
    leave()


def make_namespace():
    """A fresh `__main__`, which shows nothing of this program to the user's code."""
    sys.argv = [""]
    sys.path[0] = ""
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    return module.__dict__


def parse_request(line):
    """Returns the request, or None for what is none."""
    if not line:
        return None
    try:
        value, end = hooks.scan_json(line.decode("utf-8").strip())
    except (ValueError, StopIteration, RecursionError, MemoryError, SystemError):
        return None  # A bad text is a SystemError while the module is not loaded that defines the scanner's own error.
    if not end or not isinstance(value, dict):
        return None
    if "prepare" in value:
        return parse_preparation(value)
    token, env = value.get("run"), value.get("env", {})
    is_whole = isinstance(token, str) and len(token) == 32 and HEX.issuperset(token) and isinstance(value.get("code"), str)
    if not is_whole or not isinstance(env, dict) or not all(isinstance(each, str) for each in env.values()):
        return None
    if not isinstance(value.get("cwd", ""), str):
        return None
    return {"run": token, "code": value["code"], "env": env, "cwd": value.get("cwd"), "forms": value.get("forms")}


def parse_preparation(value):
    token, env, imports = value["prepare"], value.get("env", {}), value.get("imports", [])
    texts = [token, *env.values(), *imports] if isinstance(env, dict) and isinstance(imports, list) else [None]
    if not all(isinstance(each, str) for each in texts) or len(token) != 32 or not HEX.issuperset(token):
        return None
    return {"prepare": token, "env": env, "imports": imports}


class Kernel:
    def __init__(self, channel, namespace):
        self.pid = os.getpid()
        self.count = 0
        self.marks = [os.dup(STDOUT), os.dup(STDERR)]
        self.output = Output(channel)
        self.stdout = sys.stdout
        self.stderr = sys.stderr
        sys.stdout = Stream(self.output, "stdout", STDOUT)
        sys.stderr = Stream(self.output, "stderr", STDERR)
        faulthandler.enable(self.marks[1])
        os.register_at_fork(
            before=self.output.before_fork,
            after_in_parent=self.output.after_fork,
            after_in_child=self.output.after_fork_in_child,
        )
        os.environ.setdefault("MPLBACKEND", "agg")
        self.cells = cells.Cells(namespace, self.output)
        hooks.install(self.cells)

    def prepare(self, request):
        """What it imports and sets is not part of any run, nor is what a module prints about it."""
        for name in request["imports"]:
            interrupts.attempt(__import__, name)
        for name, value in request["env"].items():
            interrupts.attempt(os.environ.__setitem__, name, value)
        interrupts.install()
        self.output.prepared(request["prepare"])

    def handle(self, request):
        if "prepare" in request:
            return self.prepare(request)
        self.count += 1
        hooks.AVAILABLE["forms"] = request["forms"]
        interrupts.begin()
        self.output.begin(request["run"])
        before = {}
        error = self.set_up(request, before)
        if error is None:
            error = self.run(request["code"])
        interrupts.end()
        if self.output.forked:
            end_child(error)
        if error is not None:
            self.report(error)
        self.restore(before)
        interrupts.install()
        self.finish(request["run"])

    def set_up(self, request, before):
        try:
            for name, value in request["env"].items():
                before[name] = os.environ.get(name)
                os.environ[name] = value
            if request["cwd"] is not None:
                os.chdir(request["cwd"])
        except (OSError, ValueError) as error:
            return error
        return None

    def restore(self, before):
        for name, value in before.items():
            try:
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            except (OSError, ValueError):
                pass  # It could not be set either.

    def run(self, code):
        value, error = interrupts.attempt(self.cells.run, code, self.count)
        if error is None and value is not None and not self.output.forked:
            builtins._ = value
            error = self.show(value)
        if "matplotlib.pyplot" in sys.modules and not self.output.forked:
            _, failed = interrupts.attempt(hooks.show_figures)
            error = error or failed
        return error

    def show(self, value):
        if type(value) in SIMPLE and type(value) is not int or type(value) is int and -1 << 64 < value < 1 << 64:
            self.output.message('{"type":"result","data":{"text/plain":%s}}' % quote(repr(value)))
            return None
        return interrupts.attempt(hooks.show, "result", value)[1]

    def report(self, error):
        line, failed = interrupts.attempt(hooks.describe_error, error)
        if failed is not None:
            line = '{"type":"error","name":%s,"message":"It has no text","traceback":""}' % quote(type(error).__name__)
        self.output.message(line)

    def finish(self, token):
        """The marks show the host that it has read all that came through the pipes."""
        for stream in (sys.stdout, sys.stderr, self.stdout, self.stderr):
            interrupts.attempt(stream.flush)
        hooks.flush_c_streams()
        for mark in self.marks:
            try:
                write_all(mark, token.encode("ascii") + b"\n")
            except OSError:
                pass
        self.output.end(token, self.count)


def end_child(error):
    """A forked child that came to the end of its cell: it leaves as a program does, and answers nothing."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        text, _ = interrupts.attempt(hooks.traceback_of, error)
        sys.stderr.write(text or "")
        code = 1
    interrupts.attempt(sys.stdout.flush)
    os._exit(code & 255)


def leave():
    """Does what was registered for the end, and waits for no thread."""
    import atexit

    interrupts.attempt(atexit._run_exitfuncs)
    os._exit(0)
