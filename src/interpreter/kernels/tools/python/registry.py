"""`mcp`, as the author's code sees it: it only remembers which functions are tools."""

from sys import _getframe

REGISTERED = []


class Tool:
    __slots__ = ("function", "name", "title", "description", "annotations", "is_structured", "line")

    def __init__(self, function, facts):
        self.function = function
        for name in self.__slots__[1:]:
            setattr(self, name, facts.get(name))


class FastMCP:
    """Takes what the class of this name takes. Nothing is served: that is Belljar's part."""

    def __init__(self, *args, **options):
        pass

    def tool(
        self,
        name=None,
        title=None,
        description=None,
        annotations=None,
        icons=None,
        meta=None,
        tags=None,
        structured_output=None,
    ):
        facts = {"title": title, "description": description, "annotations": annotations, "is_structured": structured_output is not False}
        facts["line"] = _getframe(1).f_lineno
        if callable(name):
            return register(name, facts)
        facts["name"] = name
        return lambda function: register(function, facts)

    def add_tool(self, fn, name=None, **options):
        self.tool(name, **options)(fn)

    def run(self, *args, **options):
        pass

    def resource(self, *args, **options):
        return unserved

    def prompt(self, *args, **options):
        return args[0] if args and callable(args[0]) else unserved


class ServerSession:
    """Stands in the type `Context[ServerSession, None]` alone."""


def register(function, facts):
    REGISTERED.append(Tool(function, facts))
    return function


def unserved(function):
    """Files of FastMCP hold resources and prompts too. They do no harm here, and nobody sees them."""
    return function
