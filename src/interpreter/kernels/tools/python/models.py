"""`Field` and `BaseModel` where pydantic is not installed. They hold what an author said; `kinds` and `convert` read it."""

MISSING = type("Missing", (), {"__repr__": lambda self: "..."})()


class FieldInfo:
    """What `Field(...)` was given. A name that means nothing here is kept, and looked at by nobody."""

    def __init__(self, default=MISSING, **facts):
        self.default = MISSING if default is ... else default
        self.default_factory = facts.pop("default_factory", None)
        self.facts = facts
        if "regex" in facts:
            facts.setdefault("pattern", facts["regex"])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["facts"].get(name) if "facts" in self.__dict__ else None


def Field(default=MISSING, **facts):
    return FieldInfo(default, **facts)


def ConfigDict(**settings):
    return settings


class ValidationError(ValueError):
    pass


class BaseModel:
    """A record with named fields, which are converted as arguments of tools are."""

    def __init__(self, **values):
        from _belljar.convert import Mismatch, record_values

        try:
            fields = record_values(type(self), values, type(self).__name__)
        except Mismatch as mismatch:
            raise ValidationError(str(mismatch)) from None
        self.__dict__.update(fields)

    @classmethod
    def model_validate(cls, value):
        return value if isinstance(value, cls) else cls(**value)

    def model_dump(self, **_options):
        return {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in self.__dict__.items()}

    dict = model_dump

    def model_dump_json(self, **_options):
        from _belljar.json_text import encode
        from _belljar.values import plain

        return encode(plain(self)).decode("utf-8")

    def __eq__(self, other):
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % each for each in self.__dict__.items()))
