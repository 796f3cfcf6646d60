"""What a parameter of the type `Context` gives: progress and logs, for functions with `async` and without."""

from _belljar.errors import cut, safe

LEVELS = ("debug", "info", "notice", "warning", "error")
LONGEST_STATUS = 2000


class Done:
    """What was asked is done already. It may be awaited."""

    def __await__(self):
        return
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

    def debug(self, message, **_options):
        return self.log("debug", message)

    def info(self, message, **_options):
        return self.log("info", message)

    def warning(self, message, **_options):
        return self.log("warning", message)

    def error(self, message, **_options):
        return self.log("error", message)

    def _send(self, report):
        raise RuntimeError("Only the Context that a tool was called with reaches its caller")


def open_context(send):
    context = Context()

    def report(message):
        send(message)
        return Done()

    context._send = report
    return context


def finite(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise ValueError("Progress is a finite number, not %s" % cut(safe(repr, value), 200))
    return value + 0
