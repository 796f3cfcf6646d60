"""Figures of matplotlib as the charts of E2B's clients."""

from _belljar.charts import label_of, reader_of, span_of
from _belljar.tables import plain

BOXES = "_belljar_boxes"


def chart_of(figure, room):
    """One chart, or a chart of charts. None where there are no axes."""
    charts = [axes_chart(axes, room) for axes in figure.axes if axes.get_label() != "<colorbar>"]
    if not charts:
        return None
    if len(charts) == 1:
        return charts[0]
    title = getattr(figure, "_suptitle", None)
    return {"type": "superchart", "title": (title.get_text() if title is not None else "") or None, "elements": charts}


def axes_chart(axes, room):
    kind, elements = elements_of(axes, room)
    chart = {"type": kind, "title": axes.get_title() or None, "elements": elements}
    if kind == "pie":
        return chart
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        chart.update(("%s_%s" % (name, key), value) for key, value in axis_of(axis, room).items())
    if kind not in ("line", "scatter"):
        chart = {key: value for key, value in chart.items() if not key.endswith(("_ticks", "_tick_labels", "_scale"))}
    return chart


def elements_of(axes, room):
    """The first kind that has anything: a pie's wedges, boxes, bars, places, lines."""
    if axes.name != "3d":
        for kind, find in (("pie", wedges), ("box_and_whisker", boxes), ("bar", bars), ("scatter", places), ("line", lines)):
            elements = list(find(axes, room))
            if elements:
                return kind, elements
    return "unknown", []


def axis_of(axis, room):
    label = axis.get_label_text()
    ticks, texts = list(axis.get_ticklocs()), [text.get_text() for text in axis.get_ticklabels()]
    for text in texts:
        room.take(text)
    read = reader_of(axis)
    return {"label": label or None, "unit": unit_of(label), "ticks": [read(tick) for tick in ticks], "tick_labels": texts, "scale": scale_of(axis)}


def unit_of(label):
    """What stands in the brackets at the end."""
    for first, last in ("()", "[]"):
        if label.endswith(last) and first in label:
            return label[label.rfind(first) + 1 : -1].strip() or None
    return None


def scale_of(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    name = type(converter).__name__
    if "Date" in name:
        return "datetime"
    return "categorical" if name == "StrCategoryConverter" else axis.get_scale()


def wedges(axes, room):
    for wedge in axes.patches:
        if type(wedge).__name__ == "Wedge":
            room.take()
            yield {"label": label_of(wedge), "angle": float(wedge.theta2 - wedge.theta1), "radius": float(wedge.r)}


def boxes(axes, room):
    """As matplotlib was told them."""
    for number, box in enumerate(getattr(axes, BOXES, ()), 1):
        outliers = [plain(value) for value in box.get("fliers", ())]
        for _ in outliers:
            room.take()
        yield {
            "label": str(box.get("label") or number),
            "min": plain(box["whislo"]),
            "first_quartile": plain(box["q1"]),
            "median": plain(box["med"]),
            "third_quartile": plain(box["q3"]),
            "max": plain(box["whishi"]),
            "outliers": outliers,
        }


def remember_boxes(module):
    """A box plot leaves lines alone, which do not say what they stand for."""
    from functools import wraps

    draw = module.Axes.bxp

    @wraps(draw)
    def bxp(self, bxpstats, *args, **options):
        boxes = list(bxpstats)
        drawn = draw(self, boxes, *args, **options)
        setattr(self, BOXES, [*getattr(self, BOXES, ()), *boxes])
        return drawn

    module.Axes.bxp = bxp


def bars(axes, room):
    for container in axes.containers:
        is_flat = getattr(container, "orientation", "vertical") == "horizontal"
        read = tick_reader(axes.yaxis if is_flat else axes.xaxis)
        for bar in getattr(container, "patches", ()):
            room.take()
            start, size, height = span_of(bar, is_flat)
            yield {"label": str(read(start + size / 2)), "group": label_of(container), "value": plain(height)}


def tick_reader(axis):
    """The name of a place: its category, or else the label of a tick that stands there."""
    read = reader_of(axis)
    names = {round(float(place), 9): text.get_text() for place, text in zip(axis.get_ticklocs(), axis.get_ticklabels())}
    if scale_of(axis) != "linear":
        return read
    return lambda place: names.get(round(float(place), 9)) or read(place)


def places(axes, room):
    read = (reader_of(axes.xaxis), reader_of(axes.yaxis))
    for collection in axes.collections:
        if type(collection).__name__ == "PathCollection":
            yield {"label": label_of(collection), "points": points_of(collection.get_offsets(), read, room)}


def lines(axes, room):
    for line in axes.get_lines():
        if line.get_label() != "_nolegend_":
            places = zip(line.get_xdata(orig=True), line.get_ydata(orig=True))
            yield {"label": label_of(line), "points": points_of(places, (plain, plain), room)}


def points_of(places, read, room):
    points = []
    for x, y in places:
        room.take()
        points.append([read[0](x), read[1](y)])
    return points
