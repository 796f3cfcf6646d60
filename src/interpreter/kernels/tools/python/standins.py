"""What the author's code finds without an import, and the modules that it may import though nobody installed them."""

import sys

TYPING = (
    "Annotated Any AsyncIterator Awaitable Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping"
    " NamedTuple NotRequired Optional Protocol Required Sequence Set Tuple Type TypeVar TypedDict Union"
).split()
BLOCKS = (
    "Audio AudioContent BlobResourceContents EmbeddedResource Image ImageContent ResourceLink TextContent TextResourceContents"
    " ToolAnnotations"
).split()
GIVEN = {
    "typing": TYPING,
    "enum": ["Enum", "IntEnum"],
    "dataclasses": ["dataclass", "field"],
    "_belljar.blocks": BLOCKS,
    "_belljar.context": ["Context", "ToolError"],
    "_belljar.registry": ["FastMCP"],
}
ONLY_WORDS = {number: " " for number in range(128) if not (chr(number).isalnum() or chr(number) == "_")}
SERVER = {"_belljar.registry": ["FastMCP"], "_belljar.context": ["Context"], "_belljar.blocks": ["Image", "Audio"]}
# Whoever has the real FastMCP would register tools where nobody looks, so these come before it.
FIRST = {
    prefix + name: SERVER for prefix in ("mcp.server.fastmcp", "fastmcp") for name in ("", ".server", ".utilities", ".utilities.types")
}
FIRST.update((prefix + ".exceptions", {"_belljar.context": ["ToolError"]}) for prefix in ("mcp.server.fastmcp", "fastmcp"))
# These give way to the real packages.
LAST = {
    "pydantic": {"_belljar.models": ["Field", "BaseModel", "ConfigDict", "ValidationError"]},
    "mcp": {"_belljar.blocks": BLOCKS},
    "mcp.server": SERVER,
    "mcp.server.session": {"_belljar.registry": ["ServerSession"]},
    "mcp.types": {"_belljar.blocks": BLOCKS},
    "typing_extensions": {"typing": TYPING},
}


def given_names(code):
    """Only the names that the code mentions: each module that is not loaded makes every call faster."""
    found, words = {}, set(code.translate(ONLY_WORDS).split())
    for module, names in GIVEN.items():
        wanted = words.intersection(names)
        if wanted:
            loaded = load(module)
            found.update((name, getattr(loaded, name)) for name in wanted if hasattr(loaded, name))
    if words.intersection(("Field", "BaseModel")):
        models = models_for(words)
        found.update(Field=models.Field, BaseModel=models.BaseModel)
    return found


def models_for(words):
    """The real pydantic takes long to load. Where the code makes no models of it, a `Field` only has to be readable."""
    if words.intersection(("BaseModel", "pydantic")):
        try:
            return load("pydantic")
        except ImportError:
            pass
    return load("_belljar.models")


def load(name):
    __import__(name)
    return sys.modules[name]


def install():
    sys.meta_path.insert(0, Finder(FIRST, "only tools are served here"))
    sys.meta_path.append(Finder(LAST, "add its package to the requirements"))


class Finder:
    def __init__(self, modules, advice):
        self.modules = modules
        self.advice = advice

    def find_spec(self, name, path=None, target=None):
        return type(sys.__spec__)(name, self, is_package=True) if name in self.modules else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        for source, names in self.modules[name].items():
            loaded = load(source)
            module.__dict__.update((each, getattr(loaded, each)) for each in names if hasattr(loaded, each))

        def __getattr__(attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            raise ImportError("%s has no %s here: %s" % (name, attribute, self.advice))

        module.__getattr__ = __getattr__
