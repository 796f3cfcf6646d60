"""Values as data of several mime types, bounded, and as lines of the channel."""

import sys
from _json import encode_basestring_ascii as quote
from binascii import b2a_base64

from _belljar.channel import LONGEST_OUT
from _belljar.hooks import AVAILABLE
from _belljar.reprs import text_of

METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)
BINARY = frozenset(("image/png", "image/jpeg", "application/pdf"))
BUILTINS = frozenset((str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, type(None)))
ANSWERS_ALL = "_ipython_canary_method_should_not_exist_"
ROOM = LONGEST_OUT - (1 << 16)


def show_value(cells, kind, value, options):
    """Sends a value. `raw` says that it is such data already, by mime type."""
    metadata = options.get("metadata")
    if options.get("raw") and isinstance(value, dict):
        data = value
    else:
        data, found = bundle_of(cells, value)
        metadata = metadata or found
    if data is not None:
        cells.output.message(line_of(kind, data, metadata))


def bundle_of(cells, value):
    """Returns data by mime type, and metadata. The data is None where the value shows itself."""
    if type(value) in BUILTINS:
        return {"text/plain": text_of(value), **known_forms(value)}, None
    if cells.shell is not None:
        data, metadata = cells.shell.format(value)
        if not data:
            return None, None
    elif call_method(value, "_ipython_display_") is not ABSENT:
        return None, None
    else:
        data, metadata = collect(value)
    data.update(known_forms(value))
    if "image/png" in data:
        data.pop("image/jpeg", None)
    return data, metadata


def collect(value):
    data, metadata = {"text/plain": text_of(value)}, {}
    bundle = call_method(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(bundle, tuple) and len(bundle) == 2:
        bundle, metadata = bundle
    if isinstance(bundle, dict):
        data.update(bundle)
    for mime, name in METHODS:
        found = call_method(value, name) if mime not in data else None
        if isinstance(found, tuple) and len(found) == 2:
            found, metadata[mime] = found
        if found is not None and found is not ABSENT:
            data[mime] = found
    return data, metadata


ABSENT = object()


def call_method(value, name, **arguments):
    """What a method for rich display answers. A method that fails costs its form only, and says so."""
    if isinstance(value, type):
        return ABSENT
    try:
        if getattr(value, ANSWERS_ALL, None) is not None:
            return ABSENT
        method = getattr(value, name, None)
        return method(**arguments) if callable(method) else ABSENT
    except NotImplementedError:
        return ABSENT
    except Exception as error:
        sys.stderr.write("%s of %s failed with %s: %s\n" % (name, type(value).__name__, type(error).__name__, error))
        return ABSENT


def known_forms(value):
    """Forms of what popular packages make. They are found by the modules that the user's code loaded."""
    wanted = AVAILABLE.get("forms") == "e2b"
    if type(value) in (list, dict):
        return further("data_form", value) if wanted else {}
    if is_a(value, "matplotlib.figure", "Figure"):
        from _belljar.pictures import figure_bundle

        bundle = figure_bundle(value)
        return {**bundle, **further("figure_form", value)} if wanted and bundle else bundle
    if is_a(value, "PIL.Image", "Image"):
        from _belljar.pictures import image_bundle

        return image_bundle(value)
    if is_a(value, "pandas", "DataFrame"):
        from _belljar.tables import table_bundle

        return {**table_bundle(value), **further("frame_form", value)} if wanted else table_bundle(value)
    return {}


def further(name, value):
    """A form that cannot be made costs itself alone."""
    from _belljar import e2b

    try:
        return getattr(e2b, name)(value)
    except Exception:
        return {}


def is_a(value, module, name):
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def line_of(kind, data, metadata):
    """One message. Forms that would make it too large are named in the text instead."""
    pairs, left_out, size = [], [], 0
    for mime, item in data.items():
        mime = str(mime)
        text = None if is_huge(item) else json_of(mime, item)
        if text is None or size + len(text) > ROOM:
            left_out.append(mime)
        elif text:
            size += len(text)
            pairs.append("%s:%s" % (quote(mime), text))
    if left_out:
        note = "[Left out, since it is larger than 16 MiB: %s]" % ", ".join(left_out)
        pairs = [pair for pair in pairs if not pair.startswith('"text/plain"')] + ['"text/plain":%s' % quote(note)]
    known = json_of("application/json", metadata) if metadata and not is_huge(metadata) else ""
    extra = ',"metadata":%s' % known if known and len(known) < 1 << 15 else ""
    return '{"type":"%s","data":{%s}%s}' % (kind, ",".join(pairs), extra)


def is_huge(item):
    return hasattr(item, "__len__") and len(item) > ROOM


def json_of(mime, item):
    """The JSON text of one form, or nothing where it has none."""
    if mime.startswith("e2b/") or mime.endswith("json") and not (mime != "application/json" and isinstance(item, str)):
        from json import dumps

        try:
            return dumps(item, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return ""
    if isinstance(item, (bytes, bytearray, memoryview)):
        binary = mime in BINARY
        return quote(b2a_base64(item, newline=False).decode("ascii") if binary else bytes(item).decode("utf-8", "replace"))
    return quote(item if isinstance(item, str) else str(item))
