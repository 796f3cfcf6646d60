"""What was said about a parameter or a field beside its type: by `Field`, by pydantic's, or by a text in `Annotated`."""

KEYWORDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "min_length": "minLength",
    "max_length": "maxLength",
}
OF_TYPE = {
    "number": {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"},
    "string": {"pattern", "minLength", "maxLength"},
    "array": {"minLength", "maxLength"},
    "object": {"minLength", "maxLength"},
}
LENGTHS = {
    "array": {"minLength": "minItems", "maxLength": "maxItems"},
    "object": {"minLength": "minProperties", "maxLength": "maxProperties"},
}


class Facts:
    """`keywords` limit the value, `notes` tell a reader of the schema about it. `default` is a list of none or one."""

    def __init__(self):
        self.keywords = {}
        self.notes = {}
        self.default = []
        self.factory = None

    def add(self, said):
        """Returns False for what says nothing that a schema knows."""
        if isinstance(said, str):
            self.notes["description"] = said
            return
        for each in (said, *(getattr(said, "metadata", None) or ())):
            for name, keyword in KEYWORDS.items():
                value = getattr(each, name, None)
                if value is not None:
                    self.keywords[keyword] = getattr(value, "pattern", value)
        for note in ("title", "description", "examples"):
            value = getattr(said, note, None)
            if value and type(value) in (str, list, tuple):
                self.notes[note] = list(value) if note == "examples" else value
        if is_field(said):
            self.add_default(said)

    def add_default(self, said):
        extra = getattr(said, "json_schema_extra", None)
        if isinstance(extra, dict):
            self.notes.update(extra)
        if said.default is not ... and type(said.default).__name__ not in ("PydanticUndefinedType", "Missing"):
            self.default = [said.default]
        self.factory = getattr(said, "default_factory", None)

    @property
    def is_optional(self):
        return bool(self.default or self.factory)

    def make_default(self):
        return self.default[0] if self.default else self.factory()


def is_field(value):
    """Of this program's own class, or of pydantic's."""
    return type(value).__name__ == "FieldInfo"


def limit(schema, keywords):
    """Puts each keyword where it means something: a limit of `Optional[int]` limits the `int`."""
    if not keywords:
        return schema
    if "anyOf" in schema:
        return dict(schema, anyOf=[limit(each, keywords) for each in schema["anyOf"]])
    kind = schema.get("type")
    known = OF_TYPE.get("number" if kind == "integer" else kind, set())
    names = LENGTHS.get(kind, {})
    return dict(schema, **{names.get(each, each): value for each, value in keywords.items() if each in known or kind is None})
