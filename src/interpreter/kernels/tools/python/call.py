"""Calls one tool with arguments that the host has checked against its schema."""

from _belljar.content import answer_of
from _belljar.output import output_of
from _belljar.program import load
from _belljar.recovery import recover
from _belljar.signature import parameters_of

SAME = frozenset((str, int, bool, dict, list, type(None)))


def call(request, send):
    tool = load(request).get(request["function"])
    if tool is None:
        raise LookupError("The code has no tool %r" % request["function"])
    output = output_of(tool)
    positional, named = bind(parameters_of(tool.function), request["arguments"], tool, send)
    result = tool.function(*positional, **named)
    if hasattr(type(result), "__await__"):
        result = wait_for(result)
    recover()
    return answer_of(result, output)


def bind(parameters, arguments, tool, send):
    positional, named, unknown = [], {}, set(arguments)
    for each in parameters:
        unknown.discard(each.name)
        value = value_of(each, arguments, tool, send)
        if each.is_positional:
            positional.append(value)
        else:
            named[each.name] = value
    if unknown:
        raise TypeError("The tool has no parameter %r" % min(unknown))
    return positional, named


def value_of(parameter, arguments, tool, send):
    if parameter.is_context:
        from _belljar.context import open_context

        return open_context(send)
    if parameter.name in arguments:
        return converted(parameter, arguments[parameter.name], tool)
    if parameter.facts.is_optional:
        return parameter.facts.make_default()
    raise TypeError("The argument %r is missing" % parameter.name)


def converted(parameter, value, tool):
    annotation = parameter.annotation
    if annotation is object or type(value) is annotation and annotation in SAME:
        return value
    if value is None and any(default is None for default in parameter.facts.default):
        return None
    from _belljar.convert import convert
    from _belljar.signature import inner

    return convert(annotation, value, parameter.name, inner(tool.function).__globals__)


def wait_for(awaitable):
    """The loop is not closed: that would wait for what the tool left in threads. The process ends anyway."""
    import asyncio

    async def outcome():
        return await awaitable

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(outcome())
