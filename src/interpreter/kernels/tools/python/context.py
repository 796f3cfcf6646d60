"""What a parameter of the type `Context` gives: progress, logs and calls, for functions with `async` and without."""

from _belljar.errors import cut, safe
from _belljar.values import plain

LEVELS = ("debug", "info", "notice", "warning", "error")
LONGEST_STATUS = 2000
LONGEST_NAME = 200


class Done:
    """What was asked is done already. It may be awaited."""

    def __await__(self):
        return
        yield


class ToolError(Exception):
    """A called tool has failed, or may not be called."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code


class NoTool(ToolError, AttributeError):
    """A tool that there is not, as an attribute: `hasattr` is false."""


NoTool.__name__ = NoTool.__qualname__ = "ToolError"


class Called:
    """What a called tool answered. It may be awaited."""

    def __init__(self, answer):
        self.value = answer["value"]
        self.content = answer["content"]
        self.text = text_of(answer)

    def __await__(self):
        return self
        yield


class Context:
    def __class_getitem__(cls, _types):
        return cls

    def report_progress(self, progress, total=None, message=None):
        report = {"type": "progress", "progress": finite(progress)}
        if total is not None:
            report["total"] = finite(total)
        if message is not None:
            report["message"] = cut(safe(str, message), LONGEST_STATUS)
        return self._send(report)

    def log(self, level, message, **_options):
        if level not in LEVELS:
            raise ValueError("A log has one of the levels %s" % ", ".join(LEVELS))
        return self._send({"type": "log", "level": level, "message": cut(safe(str, message))})

    def call(self, name, arguments=None):
        """Calls another tool with the caller's rights, if the tool declares it in its `calls`."""
        given = plain({} if arguments is None else arguments)
        if type(given) is not dict:
            raise TypeError("The arguments of a tool are a dict, not %s" % type(arguments).__name__)
        answer = self._ask({"type": "call", "tool": safe(str, name)[:LONGEST_NAME], "arguments": given})
        if answer["isError"]:
            value = answer["value"]
            raise ToolError(text_of(answer), value.get("code") if isinstance(value, dict) else None)
        return Called(answer)

    def debug(self, message, **_options):
        return self.log("debug", message)

    def info(self, message, **_options):
        return self.log("info", message)

    def warning(self, message, **_options):
        return self.log("warning", message)

    def error(self, message, **_options):
        return self.log("error", message)

    def _ask(self, message):
        return self._send(message)

    def _send(self, report):
        raise RuntimeError("Only the Context that a tool was called with reaches its caller")


def open_context(send):
    context = Context()

    def report(message):
        send(message)
        return Done()

    context._send = report
    context._ask = send.ask
    return context


def text_of(answer):
    return "\n".join(block["text"] for block in answer["content"] if block["type"] == "text")


def finite(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise ValueError("Progress is a finite number, not %s" % cut(safe(repr, value), 200))
    return value + 0
