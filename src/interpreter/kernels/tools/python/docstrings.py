"""What a docstring says of a function and of its parameters, in the styles of Google, NumPy and reST."""

from _belljar.requirements import CLOSE, OPEN

HEADS = frozenset(("args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments"))
OTHER_HEADS = frozenset(
    "attributes,example,examples,note,notes,raises,references,return,returns,see also,todo,warning,warnings,warns,yield,yields".split(",")
)
FIELDS = ("param", "parameter", "arg", "argument", "key", "keyword")
LONGEST = 100_000


def parse_docstring(text):
    """Returns the text without the parts about parameters, and those by name."""
    if not isinstance(text, str):
        return "", {}
    lines = dedented(without_requirements(text[:LONGEST]).expandtabs().splitlines())
    kept, found, at = [], {}, 0
    while at < len(lines):
        take = taker(lines, at)
        if take is None:
            kept.append(lines[at])
            at += 1
        else:
            at = take(lines, at, found)
    return tidy(kept), {name: " ".join(words).strip() for name, words in found.items()}


def dedented(lines):
    """The first line stands behind the quotes; the others share the indent of the code."""
    margin = max(indent(lines[1:]), 0)
    return [line.lstrip() if index == 0 else line[margin:] for index, line in enumerate(lines)]


def without_requirements(text):
    before, opened, rest = text.partition(OPEN)
    _, closed, after = rest.partition(CLOSE)
    return before + after if opened and closed else text


def taker(lines, at):
    line = lines[at].strip()
    below = lines[at + 1].strip() if at + 1 < len(lines) else ""
    if line.lower() in HEADS and len(below) > 2 and not below.strip("-="):
        return take_numpy
    if line.endswith(":") and line[:-1].lower() in HEADS and indent(lines[at + 1 : at + 2]) > indent([lines[at]]):
        return take_google
    if line.startswith(":") and line[1:].partition(" ")[0] in (*FIELDS, "type"):
        return take_field
    return None


def indent(lines):
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=-1)


def take_google(lines, at, found):
    """`name (type): text`, and deeper lines that go on."""
    outer, name = indent([lines[at]]), None
    inner = indent([lines[at + 1]])
    at += 1
    while at < len(lines) and (not lines[at].strip() or indent([lines[at]]) > outer):
        line = lines[at].strip()
        if line and indent([lines[at]]) <= inner:
            head, _, text = split_head(line)
            name = head.partition(" ")[0].partition("(")[0].lstrip("*")
            found[name] = [text.strip()]
        elif line and name is not None:
            found[name].append(line)
        at += 1
    return at


def split_head(line):
    """At the first colon that stands in no brackets: a type may hold one."""
    depth = 0
    for index, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == ":" and depth <= 0:
            return line[:index], ":", line[index + 1 :]
    return line.partition(" ")


def take_numpy(lines, at, found):
    """`name : type`, and its text in deeper lines."""
    outer, names = indent([lines[at]]), []
    at += 2
    while at < len(lines):
        line, below = lines[at].strip(), lines[at + 1].strip() if at + 1 < len(lines) else ""
        is_head = line.lower() in HEADS | OTHER_HEADS and len(below) > 2 and not below.strip("-=")
        is_prose = line and indent([lines[at]]) <= outer and " " in line and ":" not in line and "," not in line
        if is_head or is_prose:
            break
        if line and indent([lines[at]]) <= outer:
            names = [name.strip().lstrip("*") for name in line.partition(":")[0].split(",")]
            found.update((name, []) for name in names)
        elif line:
            for name in names:
                found[name].append(line)
        at += 1
    return at


def take_field(lines, at, found):
    """`:param type name: text`, and deeper lines that go on. `:type name:` says nothing that is shown."""
    outer = indent([lines[at]])
    head, _, text = lines[at].strip()[1:].partition(":")
    is_type = head.startswith("type")
    words = found.setdefault(head.rpartition(" ")[2].lstrip("*"), []) if not is_type else []
    words.append(text.strip())
    at += 1
    while at < len(lines) and lines[at].strip() and indent([lines[at]]) > outer:
        words.append(lines[at].strip())
        at += 1
    return at


def tidy(lines):
    """Without the empty lines that stood around what was taken out."""
    kept = []
    for line in lines:
        if line.strip() or kept and kept[-1].strip():
            kept.append(line.rstrip())
    return "\n".join(kept).strip()
