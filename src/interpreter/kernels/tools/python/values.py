"""Makes plain JSON data of what Python code returns, or says at which place it cannot be done."""

import sys

from _belljar.json_text import LONGEST_LINE

DEEPEST = 200
MOST_SHOWN = 20
# What an item takes at least in the text for a person: a digit, a comma, the end of a line and an indent.
SEPARATION = 6
LONGEST_INTEGER = 10_000  # In bits; Python makes no text of integers that are much longer.
TEXTS = {("datetime", "datetime"), ("datetime", "date"), ("datetime", "time")}
NAMED = {("uuid", "UUID"), ("pathlib", "PurePath"), ("decimal", "Decimal")}


class NotJson(ValueError):
    """`path` says where, from the innermost place outwards."""

    def __init__(self, what):
        self.what = what
        self.path = []

    def __str__(self):
        path = self.path[::-1]
        if len(path) > MOST_SHOWN:
            path[MOST_SHOWN // 2 : -MOST_SHOWN // 2] = ["..."]
        return "$%s %s" % ("".join(path), self.what)


class TooLarge(ValueError):
    def __init__(self):
        super().__init__("result too large: its JSON has more than %d MiB" % (LONGEST_LINE >> 20))


def plain(value):
    """Dicts with texts as keys, lists, texts, finite numbers, booleans and None: nothing that a class of the user's can change."""
    return Plain().of(value, 0)


class Plain:
    def __init__(self):
        self.left = LONGEST_LINE

    def of(self, value, depth):
        kind = type(value)
        if kind is str:
            self.spend(len(value))
            return value
        if value is None or kind is bool:
            return value
        if kind is int:
            return checked_integer(value)
        if kind is float:
            if value - value != 0:
                raise NotJson("is %r, which JSON cannot say" % value)
            return value
        if depth == DEEPEST:
            raise NotJson("is nested more than %d levels deep, or holds itself" % DEEPEST)
        if kind is list or kind is tuple:
            return self.items(value, depth)
        if kind is dict:
            return self.entries(value.items(), depth)
        return self.other(value, depth)

    def spend(self, letters):
        self.left -= letters
        if self.left < 0:
            raise TooLarge()

    def items(self, values, depth):
        made, index = [], 0
        try:
            for each in values:
                self.spend(SEPARATION + 2 * depth)
                made.append(self.of(each, depth + 1))
                index += 1
        except NotJson as error:
            error.path.append("[%d]" % index)
            raise
        return made

    def entries(self, entries, depth):
        made, name = {}, None
        try:
            for key, each in entries:
                name = None
                name = key_text(key)
                self.spend(SEPARATION + 2 * depth + len(name) + 4)
                made[name] = self.of(each, depth + 1)
        except NotJson as error:
            if name is not None:
                error.path.append(".%s" % name[:100])
            raise
        return made

    def other(self, value, depth):
        kind = type(value)
        if is_enum(value):
            return self.of(value.value, depth + 1)
        if hasattr(kind, "to_block"):
            return self.of(value.to_block(), depth + 1)
        if hasattr(kind, "model_dump"):
            return self.of(dump_model(value), depth + 1)
        if hasattr(kind, "__dataclass_fields__"):
            return self.entries([(name, getattr(value, name)) for name in kind.__dataclass_fields__ if hasattr(value, name)], depth)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self.entries(zip(kind._fields, value), depth)
        for base, exact in ((str, str.__str__), (int, int.__int__), (float, float.__float__)):
            if isinstance(value, base):
                return self.of(exact(value), depth)
        return self.collection(value, kind, depth)

    def collection(self, value, kind, depth):
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.of(base64(value), depth)
        if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
            return self.entries(((key, value[key]) for key in value.keys()), depth)
        if isinstance(value, (set, frozenset)):
            return self.items(in_order(value), depth)
        if isinstance(value, (list, tuple, range)) or kind.__name__ in ("deque", "dict_keys", "dict_values", "dict_items"):
            return self.items(value, depth)
        places = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
        if places & TEXTS:
            return value.isoformat()
        if places & NAMED:
            return self.of(str(value), depth)
        if hasattr(kind, "tolist"):  # Arrays and numbers of numpy.
            return self.of(value.tolist(), depth + 1)
        raise NotJson("is of the type %s, which JSON cannot say" % kind.__name__)


def checked_integer(value):
    if value.bit_length() > LONGEST_INTEGER:
        raise NotJson("is an integer of %d bits, which is too long" % value.bit_length())
    return value


def key_text(key):
    if is_enum(key):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return int.__repr__(checked_integer(key))
    raise NotJson("has a key that is a %s; JSON's keys are texts" % type(key).__name__)


def is_enum(value):
    return "enum" in sys.modules and isinstance(value, sys.modules["enum"].Enum)


def dump_model(value):
    if hasattr(type(value), "__pydantic_validator__"):
        return value.model_dump(mode="json", by_alias=True)
    return value.__dict__


def in_order(values):
    try:
        return sorted(values)
    except TypeError:
        return values


def base64(value):
    from binascii import b2a_base64

    if len(value) > LONGEST_LINE:
        raise TooLarge()
    return b2a_base64(value, newline=False).decode("ascii")
