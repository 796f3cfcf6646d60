import { describe, expect, it } from "vitest";
import type { PythonKernel } from "../../support/python-kernel.ts";
import { startPythonKernel } from "../../support/python-kernel.ts";
import { findPythonPackages } from "../../support/python-packages.ts";

const CHART = "application/vnd.belljar.chart+json";
const TABLE = "application/vnd.belljar.table+json";
const PNG = /^iVBORw0KGgo/;
const found = await findPythonPackages();
const python = "python" in found ? found.python : "";
const reason = "reason" in found ? ` (skipped, as pip cannot install the packages here: ${found.reason})` : "";

const start = (env: Readonly<Record<string, string>> = {}): PythonKernel => startPythonKernel({ python, env });

async function chartOf(code: string): Promise<unknown> {
  await using kernel = start();
  const { displays, error } = await kernel.run(`import matplotlib.pyplot as plt\n${code}\nNone`);
  expect(error).toBeUndefined();
  expect(displays).toEqual([expect.objectContaining({ "image/png": expect.stringMatching(PNG) as string })]);
  return displays[0]?.[CHART];
}

describe.skipIf(reason !== "")(`figures of matplotlib${reason}`, () => {
  it("are shown where plt.show() stands, or when their run ends, and only once", async () => {
    await using kernel = start();
    const run = await kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('after')\nplt.plot([3, 4]);");
    expect(run.messages.map(({ type }) => type)).toEqual(["display", "stdout", "display"]);
    expect((await kernel.run("plt.get_fignums()")).result).toEqual({ "text/plain": "[]" });
    const last = await kernel.run("figure, axes = plt.subplots()\naxes.plot([1])\nfigure");
    expect(last.messages.map(({ type }) => type)).toEqual(["result"]);
    expect(last.result).toMatchObject({ "image/png": expect.stringMatching(PNG) as string });
    const failed = await kernel.run("plt.plot([1])\n1/0");
    expect(failed.messages.map(({ type }) => type)).toEqual(["display", "error"]);
    expect(Object.keys((await kernel.run("plt.figure()")).result ?? {})).toEqual(["text/plain"]);
  });

  it("are drawn without a screen, unless a backend is named", async () => {
    await using kernel = start();
    expect((await kernel.run("import matplotlib\nmatplotlib.get_backend().lower()")).result).toEqual({ "text/plain": "'agg'" });
    await using other = start({ MPLBACKEND: "svg" });
    expect((await other.run("import matplotlib\nmatplotlib.get_backend().lower()")).result).toEqual({ "text/plain": "'svg'" });
  });

  it.each([
    [
      "plt.plot([1, 2], [3, 4], label='a'); plt.title('T'); plt.xlabel('time (s)'); plt.yscale('log')",
      {
        type: "line",
        title: "T",
        x: { label: "time (s)", unit: "s", scale: "linear" },
        y: expect.objectContaining({ label: "", scale: "log" }) as object,
        series: [
          {
            label: "a",
            points: [
              [1, 3],
              [2, 4],
            ],
          },
        ],
      },
    ],
    [
      "plt.bar(['a', 'b'], [1, 2])",
      expect.objectContaining({
        type: "bar",
        x: { label: "", scale: "linear", ticks: ["a", "b"] },
        series: [
          {
            label: "",
            points: [
              ["a", 1],
              ["b", 2],
            ],
          },
        ],
      }),
    ],
    [
      "plt.scatter(['p', 'q'], [3, 4])",
      expect.objectContaining({
        type: "scatter",
        series: [
          {
            label: "",
            points: [
              ["p", 3],
              ["q", 4],
            ],
          },
        ],
      }),
    ],
    [
      "plt.pie([1, 3], labels=['x', 'y'])",
      expect.objectContaining({
        type: "pie",
        series: [
          {
            label: "",
            points: [
              ["x", 0.25],
              ["y", 0.75],
            ],
          },
        ],
      }),
    ],
    [
      "plt.hist([1, 2, 2, 3], bins=[1, 2, 3])",
      expect.objectContaining({
        type: "hist",
        series: [
          {
            label: "",
            points: [
              [1.5, 1],
              [2.5, 3],
            ],
          },
        ],
      }),
    ],
    [
      "import datetime\nplt.barh([datetime.date(2020, 1, 1)], [3])",
      expect.objectContaining({ series: [{ label: "", horizontal: true, points: [["2020-01-01T00:00:00", 3]] }] }),
    ],
    ["plt.imshow([[1, 2, 3], [4, 5, 6]])", expect.objectContaining({ type: "image", shape: [2, 3], series: [] })],
  ])("are data too: %s", async (code, chart) => expect(await chartOf(code)).toEqual(chart));

  it("are data of at most 5,000 points", async () => {
    const chart = (await chartOf("plt.plot(range(4000)); plt.plot(range(4000))")) as { series: { points: unknown[] }[] };
    expect(chart).toMatchObject({ truncated: true, total_points: 8000 });
    expect(chart.series.map(({ points }) => points.length)).toEqual([4000, 1000]);
  });

  it("of several axes are a grid of charts", async () => {
    const code = "f, (a, b) = plt.subplots(1, 2)\na.plot([1])\nb.bar(['x'], [2])\nf.suptitle('S')";
    expect(await chartOf(code)).toMatchObject({ type: "grid", title: "S", charts: [{ type: "line" }, { type: "bar" }] });
  });
});

describe.skipIf(reason !== "")(`images of Pillow${reason}`, () => {
  it.each(["RGB", "CMYK", "F", "1"])("are PNG when they are in %s, as a result and where show() stands", async (mode) => {
    await using kernel = start();
    const { result, displays } = await kernel.run(`from PIL import Image\ni = Image.new("${mode}", (3, 3))\ni.show()\ni`);
    for (const shown of [result, displays[0]]) {
      expect(Object.keys(shown ?? {}).toSorted()).toEqual(["image/png", "text/plain"]);
      expect(shown?.["image/png"]).toMatch(PNG);
    }
  });
});

describe.skipIf(reason !== "")(`frames of pandas${reason}`, () => {
  it("are text, an HTML table and data", async () => {
    await using kernel = start();
    const code =
      "import pandas as pd\npd.DataFrame({'n': [1, 2.5, None], 't': pd.to_datetime(['2020-01-01', None, '2021-01-01']), 's': ['x', None, 'z']})";
    const { result } = await kernel.run(code);
    expect(result?.["text/plain"]).toContain("2020-01-01");
    expect(result?.["text/html"]).toContain("<td>2020-01-01</td>");
    expect(result?.[TABLE]).toEqual({
      columns: ["n", "t", "s"],
      rows: [
        [1, "2020-01-01T00:00:00", "x"],
        [2.5, null, null],
        [null, "2021-01-01T00:00:00", "z"],
      ],
      total_rows: 3,
    });
  });

  it("keep their index, and are data of at most 200 rows and columns", async () => {
    await using kernel = start();
    await kernel.run("import pandas as pd");
    expect((await kernel.run("pd.DataFrame({'n': [1]}, index=pd.Index(['a'], name='key'))")).result?.[TABLE]).toEqual({
      columns: ["key", "n"],
      rows: [["a", 1]],
      total_rows: 1,
    });
    const large = (await kernel.run("pd.DataFrame([range(300)] * 1000)")).result?.[TABLE] as { columns: unknown[]; rows: unknown[][] };
    expect(large).toMatchObject({ total_rows: 1000, total_columns: 300 });
    expect([large.columns.length, large.rows.length, large.rows[0]?.length]).toEqual([200, 200, 200]);
    expect((await kernel.run("pd.DataFrame(index=['a'])")).result?.[TABLE]).toEqual({ columns: ["index"], rows: [["a"]], total_rows: 1 });
  });
});

it.skipIf(reason !== "")(`imports no package itself${reason}`, async () => {
  await using kernel = start();
  const { result } = await kernel.run(
    "import sys\nprint(1)\n[n for n in ('IPython', 'matplotlib', 'numpy', 'pandas', 'PIL', 'json') if n in sys.modules]",
  );
  expect(result).toEqual({ "text/plain": "[]" });
});

describe.skipIf(reason !== "")(`IPython's shell${reason}`, () => {
  it("runs what Python does not read, with the variables of before", async () => {
    await using kernel = start();
    await kernel.run("x = 41");
    expect(await kernel.run("!echo $x; echo err >&2; exit 3")).toMatchObject({ stdout: "41\nerr\n", error: undefined, result: undefined });
    expect((await kernel.run("(_exit_code, x)")).result).toEqual({ "text/plain": "(3, 41)" });
    expect((await kernel.run("%timeit -n1 -r1 x")).stdout).toContain("1 loop each");
    expect((await kernel.run("%%bash\necho $0")).stdout).toBe("bash\n");
    expect((await kernel.run("len?")).displays[0]?.["text/plain"]).toContain("builtin_function");
    expect(await kernel.run("import asyncio\nawait asyncio.sleep(0, 5)")).toMatchObject({ count: 7, result: { "text/plain": "5" } });
  });

  it.each([
    ["1/0", "ZeroDivisionError"],
    ["def f(:", "SyntaxError"],
    ["%nope", "UsageError"],
    ["exit()", "SystemExit"],
    ["import sys; sys.exit(3)", "SystemExit"],
  ])("tells the error of %s once", async (code, name) => {
    await using kernel = start();
    await kernel.run("!true");
    const { error, stdout, stderr } = await kernel.run(code);
    expect([error?.name, stdout, stderr]).toEqual([name, "", ""]);
    expect(error?.traceback).not.toContain("\u{1b}");
  });

  it("tells the error of a script that it ran on stderr", async () => {
    await using kernel = start();
    const { stderr } = await kernel.run(
      "import tempfile\nf = tempfile.NamedTemporaryFile('w', suffix='.py')\nf.write('1/0')\nf.flush()\n%run $f.name",
    );
    expect(stderr).toMatch(/File "\/.*\.py", line 1[\s\S]*ZeroDivisionError/);
  });

  it.each(["while True: pass", "!sleep 1000000", "import asyncio\nawait asyncio.sleep(1e6)"])("is interrupted in %j", async (code) => {
    await using kernel = start();
    await kernel.run("!true");
    const run = kernel.start(`print('go')\n${code}`);
    await kernel.printed("go");
    kernel.interrupt();
    expect((await kernel.outcome(run)).error?.name).toBe("KeyboardInterrupt");
    expect((await kernel.run("1")).result).toEqual({ "text/plain": "1" });
  });

  it("is there as soon as IPython is imported, for its displays too", async () => {
    await using kernel = start();
    const code = "from IPython.display import HTML, display\nfrom IPython import get_ipython\ndisplay(HTML('<b>'))\nget_ipython() is None";
    const { displays, result } = await kernel.run(code);
    expect([displays[0]?.["text/html"], result]).toEqual(["<b>", { "text/plain": "False" }]);
    const frame = await kernel.run("import pandas as pd\npd.DataFrame({'n': [1]})");
    expect(frame.result).toMatchObject({
      "text/html": expect.any(String) as string,
      [TABLE]: { columns: ["n"], rows: [[1]], total_rows: 1 },
    });
  });

  it("is left alone when it is turned off, and where IPython is not installed", async () => {
    await using off = start({ BELLJAR_PLAIN_KERNEL: "1" });
    expect((await off.run("!true")).error?.name).toBe("SyntaxError");
    expect((await off.run("import IPython\nIPython.get_ipython()")).error).toBeUndefined();
    await using absent = startPythonKernel({ args: ["-S"] });
    expect((await absent.run("%time 1")).error?.name).toBe("SyntaxError");
  });
});
