"""Figures of matplotlib as data, so that a model reads numbers and no pixels."""

import sys

from _belljar.tables import plain

CHART = "application/vnd.belljar.chart+json"
MOST_POINTS = 5000
MOST_TICKS = 50
ORDER = ("pie", "hist", "bar", "scatter", "line", "image")


def chart_of(figure):
    """The chart of a figure; of a figure with several axes a grid of charts. None where nothing can be read."""
    budget = Budget()
    charts = [axes_chart(axes, budget) for axes in figure.axes if axes.get_label() != "<colorbar>"]
    if not charts:
        return None
    chart = charts[0] if len(charts) == 1 else {"type": "grid", "charts": charts}
    title = getattr(figure, "_suptitle", None)
    if title is not None and (len(charts) > 1 or not chart["title"]):
        chart["title"] = title.get_text()
    if budget.total > MOST_POINTS:
        chart.update(truncated=True, total_points=budget.total)
    return chart


class Budget:
    """Points that may still be told, of all charts of a figure."""

    def __init__(self):
        self.total = 0

    def take(self, points, count):
        left = max(0, MOST_POINTS - self.total)
        self.total += count
        return [point for point, _ in zip(points, range(left))]


def axes_chart(axes, budget):
    readers = (reader_of(axes.xaxis), reader_of(axes.yaxis))
    series = []
    if axes.name != "3d":
        for find in (pie_series, bar_series, scatter_series, line_series):
            series.extend(find(axes, budget, readers))
    types = [each["type"] for each in series] + (["image"] if axes.images else [])
    kind = min(types, key=ORDER.index) if types else "other"
    for each in series:
        if each["type"] == kind:
            del each["type"]
    chart = {"type": kind, "title": axes.get_title(), "x": axis(axes.xaxis), "y": axis(axes.yaxis), "series": series}
    if axes.images:
        chart["shape"] = [int(size) for size in axes.images[0].get_array().shape]
    return chart


def axis(axis):
    label = axis.get_label_text()
    told = {"label": label, "scale": axis.get_scale()}
    if label.endswith((")", "]")):
        unit = label[max(label.rfind("("), label.rfind("[")) + 1 : -1].strip()
        if unit and unit != label[:-1]:
            told["unit"] = unit
    ticks = [text.get_text() for text in axis.get_ticklabels()[:MOST_TICKS]]
    if any(ticks) and not all(is_number(tick) for tick in ticks):
        told["ticks"] = ticks
    return told


def is_number(tick):
    try:
        float(tick.replace("\u2212", "-"))
    except ValueError:
        return False
    return True


def reader_of(axis):
    """What makes of a place on the axis what stood in the user's data: a category, a date, or the number."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    name = type(converter).__name__
    if name == "StrCategoryConverter":
        words = {place: word for word, place in axis.units._mapping.items()}
        return lambda number: words.get(number, plain(number))
    if "Date" in name:
        dates = sys.modules["matplotlib.dates"]
        return lambda number: dates.num2date(number).replace(tzinfo=None).isoformat()
    return plain


def label_of(artist):
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def pie_series(axes, budget, _readers):
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    if wedges:
        points = ([label_of(wedge), round((wedge.theta2 - wedge.theta1) / 360, 6)] for wedge in wedges)
        yield {"type": "pie", "label": "", "points": budget.take(points, len(wedges))}


def bar_series(axes, budget, readers):
    for container in axes.containers:
        bars = list(getattr(container, "patches", ()))
        if not bars:
            continue
        is_flat = getattr(container, "orientation", "vertical") == "horizontal"
        read = readers[1] if is_flat else readers[0]
        spans = [span_of(bar, is_flat) for bar in bars]
        points = ([read(start + size / 2), plain(height)] for start, size, height in spans)
        told = {"type": "hist" if are_bins(spans) else "bar", "label": label_of(container), "points": budget.take(points, len(bars))}
        if is_flat:
            told["horizontal"] = True
        yield told


def span_of(bar, is_flat):
    """Where a bar starts, its breadth, and its height."""
    if is_flat:
        return bar.get_y(), bar.get_height(), bar.get_width()
    return bar.get_x(), bar.get_width(), bar.get_height()


def are_bins(spans):
    """Bars of a histogram touch one another."""
    pairs = list(zip(spans, spans[1:]))
    return bool(pairs) and all(abs(start + size - after[0]) <= abs(size) * 1e-6 for (start, size, _), after in pairs)


def scatter_series(axes, budget, readers):
    for collection in axes.collections:
        if type(collection).__name__ == "PathCollection":
            places = collection.get_offsets()
            points = ([readers[0](x), readers[1](y)] for x, y in places)
            yield {"type": "scatter", "label": label_of(collection), "points": budget.take(points, len(places))}


def line_series(axes, budget, _readers):
    labels = {id(container[0]): label_of(container) for container in axes.containers if len(container) > 0}
    for line in axes.get_lines():
        if line.get_label() == "_nolegend_" and id(line) not in labels:
            continue  # A part of a box plot, of an error bar, of a frame.
        xs, ys = line.get_xdata(orig=True), line.get_ydata(orig=True)
        points = ([plain(x), plain(y)] for x, y in zip(xs, ys))
        yield {"type": "line", "label": label_of(line) or labels.get(id(line), ""), "points": budget.take(points, len(xs))}
