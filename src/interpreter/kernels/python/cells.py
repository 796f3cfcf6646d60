"""Runs the text of a cell in the namespace that all of them share, and gives the value of its last expression."""

import _ast
import os
import sys

IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
ALLOW_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
ONLY_AST = 0x0400  # ast.PyCF_ONLY_AST
MOST_SOURCES = 16 << 20


class Cells:
    def __init__(self, namespace, output):
        self.namespace = namespace
        self.output = output
        self.flags = ALLOW_AWAIT
        self.sources = {}
        self.kept = 0
        self.shell = None
        self.may_use_shell = os.environ.get("BELLJAR_PLAIN_KERNEL") != "1"

    def run(self, source, number):
        if self.shell is None and self.may_use_shell and "get_ipython" in source:
            self.import_shell()
        if self.shell is None:
            try:
                codes = self.compile(source, "<cell %d>" % number)
            except SyntaxError:
                if not self.may_use_shell or not any(sign in source for sign in "%!?") or not self.import_shell():
                    raise
        if self.shell is not None:
            return self.shell.run(source, number)
        value = self.evaluate(codes)
        return None if source.rstrip().endswith(";") else value

    def compile(self, source, name):
        """Returns the code before the last expression and that of the expression, where they are there."""
        self.remember(name, source)
        tree = compile(source, name, "exec", self.flags | ONLY_AST, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        codes = []
        if tree.body:
            codes.append(compile(tree, name, "exec", self.flags, True))
            if "__future__" in source:
                self.flags |= codes[0].co_flags & future_flags()
        if last is not None:
            codes.append(compile(_ast.Expression(last.value), name, "eval", self.flags, True))
        return codes

    def evaluate(self, codes):
        if any(code.co_flags & IS_COROUTINE for code in codes):
            from _belljar.loop import run_until_done

            return run_until_done(self.evaluate_in_loop(codes))
        value = None
        for code in codes:
            value = eval(code, self.namespace)
        return value

    async def evaluate_in_loop(self, codes):
        value = None
        for code in codes:
            value = eval(code, self.namespace)
            if code.co_flags & IS_COROUTINE:
                value = await value
        return value

    def remember(self, name, source):
        """Tracebacks and `inspect` show the lines of cells. The oldest are forgotten when they are very many."""
        self.sources[name] = source
        self.kept += len(source)
        lines = sys.modules.get("linecache")
        while self.kept > MOST_SOURCES and len(self.sources) > 1:
            oldest = next(iter(self.sources))
            self.kept -= len(self.sources.pop(oldest))
            if lines is not None:
                lines.cache.pop(oldest, None)
        if lines is not None:
            self.give_source(lines, name)

    def give_sources(self, lines):
        for name in self.sources:
            self.give_source(lines, name)

    def give_source(self, lines, name):
        source = self.sources[name]
        lines.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)

    def import_shell(self):
        """IPython's shell reads what Python does not: magics, `!command`, `object?`. False where IPython is not installed."""
        from _belljar import hooks

        if "IPython" in sys.modules:
            self.open_shell()
        elif hooks.find_spec("IPython") is not None:
            import IPython  # noqa: F401  The finder of the hooks opens the shell.
        return self.shell is not None

    def open_shell(self):
        """Once IPython is there, the cells are run by its shell."""
        if self.shell is None and self.may_use_shell:
            try:
                from _belljar.shell import Shell

                self.shell = Shell(self)
            except Exception as error:
                self.may_use_shell = False
                sys.stderr.write("IPython's shell cannot be used here: %s: %s\n" % (type(error).__name__, error))


def future_flags():
    import __future__ as future

    return sum(getattr(future, name).compiler_flag for name in future.all_feature_names if name != "nested_scopes")
