"""JSON without the module `json`, which takes longer to load than a call, and which the user's code may change."""

from _json import encode_basestring as quote
from _json import encode_basestring_ascii as quote_ascii
from _json import make_encoder, make_scanner

INDENT = "  "
# Of a message to the host, which reads no longer one.
LONGEST_LINE = 8 << 20


class Rules:
    """What `json.JSONDecoder` would hand to the scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


def refuse(value):
    raise TypeError("%s is no JSON" % type(value).__name__)


SCAN = make_scanner(Rules)
#                     markers, default, encoder, indent, separators, sort_keys, skipkeys, allow_nan
WRITE = make_encoder(None, refuse, quote, None, ":", ",", False, False, False)
WRITE_ASCII = make_encoder(None, refuse, quote_ascii, None, ":", ",", False, False, False)


def parse(text):
    try:
        value, end = SCAN(text.strip(), 0)
    except (StopIteration, SystemError) as error:  # The latter while the module is not loaded that defines the scanner's own error.
        raise ValueError("no JSON") from error
    return value


def encode(tree):
    """One line of UTF-8. Half a surrogate pair, which UTF-8 cannot say, makes all other letters escapes too."""
    try:
        return "".join(WRITE(tree, 0)).encode("utf-8")
    except UnicodeEncodeError:
        return "".join(WRITE_ASCII(tree, 0)).encode("ascii")


def pretty(tree):
    """For a person: containers over several lines, letters as they are. The tree is one that `plain` made."""
    parts = []
    write_pretty(tree, "\n", parts.append)
    return "".join(parts)


def write_pretty(tree, margin, put):
    if type(tree) not in (dict, list) or not tree:
        put("".join(WRITE(tree, 0)))
        return
    inner = margin + INDENT
    is_dict = type(tree) is dict
    put("{" if is_dict else "[")
    for index, each in enumerate(tree):
        put("," + inner if index else inner)
        if is_dict:
            put(quote(each) + ": ")
        write_pretty(tree[each] if is_dict else each, inner, put)
    put(margin + ("}" if is_dict else "]"))
