"""Errors as text: bounded, with the user's frames alone. Made by hand, since `traceback` loads more than a call takes."""

from os import write

LONGEST = 64 << 10
MOST_FRAMES = 60
MOST_LINKED = 10
MOST_MEMBERS = 10
DEEPEST_GROUP = 4
MOST_EXCEPTIONS = 100
LONGEST_LINE = 500
OF_CALLS = "_belljar.context"  # what a called tool failed with, at a line of the user's code
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def error_answer(error, file, code):
    text = "" if is_own(error) and type(error).__module__ != OF_CALLS else Tracebacks(file, code).chain(error)
    return {"type": "error", "name": cut(type(error).__name__, 200), "message": message_of(error), "traceback": cut(text)}


def is_own(error):
    """This program's own, about what came or what was returned: no line of the user's code is to blame."""
    return type(error).__module__.startswith("_belljar.")


def message_of(error):
    if isinstance(error, SystemExit):
        return cut("The code ended the process: exit(%s)" % ("" if error.code is None else safe(repr, error.code)))
    if isinstance(error, SyntaxError) and error.msg:
        return cut(safe(str, error.msg))
    return cut(safe(str, error)) or type(error).__name__


def safe(make, value):
    try:
        return "" + make(value)
    except BaseException as failed:
        return "<its text cannot be made: %s>" % type(failed).__name__


def cut(text, limit=LONGEST):
    """The host counts in UTF-16: letters beyond its first plane are two."""
    if len(text) > limit // 2 and max(text[:limit] + text[-limit:]) > "\uffff":
        limit //= 2
    if len(text) <= limit:
        return text
    half = limit // 2 - 50
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def tell(text):
    """To whoever reads the logs: the channel is not there, or is for answers."""
    try:
        write(2, text.encode("utf-8", "replace"))
    except OSError:
        pass


def source_lines(code):
    """As Python counts them: other ends of lines, which `splitlines` knows, may stand in a text."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def last_line(error, file):
    """The last line of the user's code that an error came through, or None."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    return line


class Tracebacks:
    def __init__(self, file, code):
        self.file = file
        self.code = code
        self.lines = None
        self.left = MOST_EXCEPTIONS

    def chain(self, error, depth=0):
        """The oldest first, as Python does it."""
        links, seen = [], set()
        while error is not None and id(error) not in seen and len(links) < MOST_LINKED:
            seen.add(id(error))
            is_cause = error.__cause__ is not None
            links.append((error, CAUSE if is_cause else CONTEXT))
            error = error.__cause__ if is_cause else None if error.__suppress_context__ else error.__context__
        parts = ["[... earlier exceptions left out ...]\n"] if error is not None and id(error) not in seen else []
        for index, (link, joint) in reversed(list(enumerate(links))):
            parts.append(self.one(link, depth))
            if index:
                parts.append(links[index - 1][1])
        return "".join(parts)

    def one(self, error, depth):
        self.left -= 1
        if self.left < 0:
            return "[... left out ...]\n"
        frames = self.frames(error)
        head = "Traceback (most recent call last):\n" if frames else ""
        notes = getattr(error, "__notes__", None)
        notes = notes[:MOST_LINKED] if type(notes) in (list, tuple) else ()
        tail = "".join("%s\n" % cut(safe(str, note), LONGEST // 8) for note in notes)
        syntax = self.place(error) if isinstance(error, SyntaxError) else ""
        return head + "".join(frames) + syntax + self.title(error) + tail + self.members(error, depth)

    def title(self, error):
        kind = type(error)
        is_known = kind.__module__ in ("builtins", "__tool__") or is_own(error)
        name = kind.__qualname__ if is_known else "%s.%s" % (kind.__module__, kind.__qualname__)
        message = safe(str, error.msg if isinstance(error, SyntaxError) else error)
        return "%s: %s\n" % (name, cut(message, LONGEST // 2)) if message else name + "\n"

    def place(self, error):
        if error.filename != self.file or not error.lineno:
            return ""
        return self.frame(error.lineno, None)

    def members(self, error, depth):
        group = getattr(error, "exceptions", None)
        if not isinstance(group, (list, tuple)) or not group:
            return ""
        if depth == DEEPEST_GROUP:
            return "  [... %d exceptions inside left out ...]\n" % len(group)
        parts = []
        for index, each in enumerate(group[:MOST_MEMBERS]):
            if isinstance(each, BaseException):
                text = self.chain(each, depth + 1)
                parts.append("  ---- %d ----\n" % (index + 1) + "".join("  %s\n" % line for line in text.splitlines()))
        left = len(group) - MOST_MEMBERS
        return "".join(parts) + ("  [... %d more left out ...]\n" % left if left > 0 else "")

    def frames(self, error):
        found, count, step = [], 0, error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == self.file:
                count += 1
                found.append((step.tb_lineno, step.tb_frame.f_code.co_name))
                if count > MOST_FRAMES:
                    del found[MOST_FRAMES // 2]
            step = step.tb_next
        texts = [self.frame(*each) for each in found]
        if count > MOST_FRAMES:
            texts.insert(MOST_FRAMES // 2, "  [... %d frames left out ...]\n" % (count - MOST_FRAMES))
        return texts

    def frame(self, line, function):
        if self.lines is None:
            self.lines = source_lines(self.code)
        text = self.lines[line - 1].strip()[:LONGEST_LINE] if 0 < line <= len(self.lines) else ""
        place = '  File "%s", line %d%s\n' % (self.file, line, ", in %s" % function if function else "")
        return place + ("    %s\n" % text if text else "")
