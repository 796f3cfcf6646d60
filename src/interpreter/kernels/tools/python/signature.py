"""The parameters of a function, without `inspect`, which takes longer to load than a call."""

import sys

from _belljar.fields import Facts, is_field

FUNCTION = type(lambda: None)
ARGS, KEYWORDS = 4, 8  # inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
MOST_WRAPPERS = 100
ANY = object


class BadSignature(Exception):
    """`parameter` is the name of the one that it is about, or None."""

    def __init__(self, message, parameter=None):
        super().__init__(message)
        self.parameter = parameter


class Parameter:
    __slots__ = ("name", "annotation", "facts", "is_context", "is_positional")


def inner(function):
    """The author's own function, below the decorators that used `functools.wraps`."""
    for _ in range(MOST_WRAPPERS):
        function = getattr(function, "__func__", function)
        if not hasattr(function, "__wrapped__"):
            break
        function = function.__wrapped__
    if type(function) is not FUNCTION:
        raise BadSignature("A tool is a function; %s is none" % getattr(function, "__name__", type(function).__name__))
    return function


def parameters_of(function):
    own = inner(function)
    code, defaults = own.__code__, own.__defaults__ or ()
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    if code.co_flags & (ARGS | KEYWORDS):
        raise BadSignature("A tool names its parameters, so it has no `*args` or `**kwargs`. A decorator keeps the names by functools.wraps")
    given = dict(zip(names[count - len(defaults) : count], defaults), **(own.__kwdefaults__ or {}))
    is_bound = getattr(function, "__self__", None) is not None
    return [parameter(own, name, given, index < code.co_posonlyargcount) for index, name in enumerate(names)][is_bound:]


def parameter(function, name, given, is_positional):
    made = Parameter()
    made.name = name
    made.is_positional = is_positional
    made.annotation, made.facts = annotation_of(function, name)
    if name in given and is_field(given[name]):
        made.facts.add(given[name])
    elif name in given:
        made.facts.default = [given[name]]
    made.is_context = is_context(made.annotation)
    return made


def annotation_of(function, name):
    annotation = function.__annotations__.get(name, ANY)
    if type(annotation) is type:
        return annotation, Facts()
    from _belljar.kinds import Unsupported, unwrapped

    try:
        return unwrapped(annotation, function.__globals__)[:2]
    except Unsupported as error:
        raise BadSignature("The annotation of `%s` cannot be read: %s" % (name, error), name) from None


def is_context(annotation):
    """`Context`, and `Optional[Context]`."""
    module = sys.modules.get("_belljar.context")
    kinds = (annotation, *(getattr(annotation, "__args__", None) or ()))
    return module is not None and any(type(each) is type and issubclass(each, module.Context) for each in kinds)
