"""`repr` with a limit: containers are walked, so that one of a billion items costs no more than what is shown of it."""

LIMIT = 1 << 20
NOTE = "\n[... cut: the text is longer than 1 MiB]"
DEEP = " [... cut: nested too deeply]"
BRACKETS = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})")}


class Full(Exception):
    """The limit is reached."""


class Writer:
    def __init__(self):
        self.parts = []
        self.size = 0
        self.inside = set()

    def add(self, text):
        self.parts.append(text)
        self.size += len(text)
        if self.size > LIMIT:
            raise Full

    def write(self, value):
        kind = type(value)
        if kind in BRACKETS and value:
            self.write_container(kind, value)
        elif kind in (str, bytes, bytearray) and len(value) > LIMIT:
            self.add(repr(value[: LIMIT + 1]))
        else:
            self.add(repr(value))

    def write_container(self, kind, value):
        first, last = BRACKETS[kind]
        if id(value) in self.inside:
            self.add(first + "..." + last)
            return
        self.inside.add(id(value))
        self.add(first)
        self.write_items(value.items() if kind is dict else value, kind is dict)
        self.add(",)" if kind is tuple and len(value) == 1 else last)
        self.inside.discard(id(value))

    def write_items(self, items, are_pairs):
        is_first = True
        for item in items:
            if not is_first:
                self.add(", ")
            is_first = False
            if are_pairs:
                self.write(item[0])
                self.add(": ")
                item = item[1]
            self.write(item)


def text_of(value):
    writer = Writer()
    try:
        writer.write(value)
    except Full:
        return "".join(writer.parts)[:LIMIT] + NOTE
    except RecursionError:
        if type(value) not in BRACKETS:
            raise
        return "".join(writer.parts) + DEEP
    return "".join(writer.parts)
