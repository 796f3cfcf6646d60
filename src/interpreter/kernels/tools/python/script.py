"""Runs a script: a program that calls tools as functions, and whose `return` is what the caller gets."""

from _belljar import program
from _belljar.call import wait_for
from _belljar.context import NoTool, ToolError, text_of
from _belljar.errors import cut, safe
from _belljar.recovery import recover
from _belljar.values import plain

ONLY_TREE = 0x400  # ast.PyCF_ONLY_AST, without loading `ast`
MOST_SHOWN = 20
LONGEST_NAME = 200
NAME = "__script__"


class Function:
    """One tool. It takes its arguments by name, or all of them as a dict."""

    def __init__(self, name, ask):
        self.__name__ = self.__qualname__ = name
        self._ask = ask

    def __call__(self, arguments=None, /, **named):
        given = plain({} if arguments is None else arguments)
        if type(given) is not dict:
            raise TypeError("The arguments of a tool are given by name, or as a dict; not as a %s" % type(arguments).__name__)
        answer = self._ask({"type": "call", "tool": self.__name__, "arguments": dict(given, **plain(named))})
        if answer["isError"]:
            value = answer["value"]
            raise ToolError(text_of(answer), value.get("code") if isinstance(value, dict) else None)
        return answer["value"]

    def __repr__(self):
        return "<tool %s>" % self.__name__


class Tools:
    """Tools by name, as attributes or as items."""

    def __init__(self, describe):
        self._describe = describe
        self._found = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        if name in self._found:
            return self._found[name]
        raise NoTool(self._describe(cut(safe(str, name), LONGEST_NAME)), "TOOL_NOT_FOUND")

    def __contains__(self, name):
        return name in self._found

    def __iter__(self):
        return iter(self._found)

    def __dir__(self):
        return list(self._found)


def tools_of(rows, ask):
    servers = {}

    def describe(name):
        return "There is no tools.%s. %s" % (name, "The servers are %s" % shown(servers) if servers else "No server has tools here")

    tools = Tools(describe)
    for name, *path in rows:
        function = Function(name, ask)
        tools._found[name] = function
        namespace, _, member = (path[0] if path else "").partition(".")
        if not member:
            continue
        inner = tools._found.setdefault(namespace, open_namespace(namespace))
        if isinstance(inner, Tools):
            inner._found[member] = function
            servers[namespace] = inner
    return tools


def open_namespace(server):
    inner = Tools(lambda name: "tools.%s has no %s; it has %s" % (server, name, shown(inner._found)))
    return inner


def shown(names):
    return ", ".join(list(names)[:MOST_SHOWN]) + (", ..." if len(names) > MOST_SHOWN else "")


def run_script(request, send):
    file, code = program.file_name(request["name"]), request["code"]
    module = program.make_module(file, code)
    module.tools = tools_of(request["tools"], send.ask)
    result = function_of(code, file, module.__dict__)()
    if hasattr(type(result), "__await__"):
        result = wait_for(result)
    recover()
    return {"type": "returned", "value": plain(result)}


def function_of(code, file, names):
    """The code as the body of a function, each line where it was. It is `async` where it seems to wait for something."""
    body = compile(code[1:] if code.startswith("\ufeff") else code, file, "exec", ONLY_TREE, True).body
    is_async = "await" in code or "async" in code
    tree = compile("%sdef %s():\n    pass" % ("async " if is_async else "", NAME), file, "exec", ONLY_TREE, True)
    if body:
        tree.body[0].body = body
    exec(compile(tree, file, "exec", 0, True), names)
    return names.pop(NAME)
