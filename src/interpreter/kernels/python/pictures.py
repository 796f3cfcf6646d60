"""Figures of matplotlib and images of Pillow as PNG."""

import io
import sys

from _belljar.charts import CHART, chart_of
from _belljar.display import show_value

SHOWN = "_belljar_shown"


def figure_bundle(figure):
    """The picture, and the chart as data. A figure that was shown is not shown again when its run ends."""
    setattr(figure, SHOWN, True)
    if len(figure.get_children()) <= 1:
        return {}  # Nothing but its background: no picture is worth as much as its text.
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", bbox_inches="tight")
    data = {"image/png": drawn.getvalue()}
    try:
        chart = chart_of(figure)
    except Exception:
        chart = None  # A picture alone is right too; figures come in more kinds than charts know.
    if chart is not None:
        data[CHART] = chart
    return data


def show_open_figures(cells):
    """Shows what is open and was not shown yet, and closes it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            if not getattr(figure, SHOWN, False):
                show_value(cells, "display", figure, {})
        except Exception as error:
            sys.stderr.write("A figure could not be drawn: %s: %s\n" % (type(error).__name__, error))
        finally:
            pyplot.close(figure)


def image_bundle(image):
    """PNG knows not every mode of pixels; the others are shown as RGB."""
    for shown in (lambda: image, lambda: image.convert("RGB")):
        drawn = io.BytesIO()
        try:
            shown().save(drawn, format="PNG")
            return {"image/png": drawn.getvalue()}
        except (OSError, ValueError, KeyError):
            continue
    return {}
