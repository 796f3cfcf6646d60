import { describe, expect, it } from "vitest";
import { startPythonKernel } from "../../support/python-kernel.ts";
import { findPythonPackages } from "../../support/python-packages.ts";

const forms = "e2b";
const [DATA, CHART] = ["e2b/data", "e2b/chart"];
const found = await findPythonPackages();
const python = "python" in found ? found.python : "";
const reason = "reason" in found ? ` (skipped, as pip cannot install the packages here: ${found.reason})` : "";

it("shows lists and dictionaries as JSON where a run asks for it, and whole or not at all", async () => {
  await using kernel = startPythonKernel();
  const results = async (code: string, options: object = { forms }) => (await kernel.run(code, options)).result;
  expect(await results("{'a': [1, (2.5, None)], 3: True}")).toMatchObject({ "application/json": { a: [1, [2.5, null]], "3": true } });
  const without = ["text/plain"];
  expect(Object.keys((await results("[1]", {})) ?? {})).toEqual(without);
  for (const code of ["[{1, 2}]", "[float('nan')]", "[0] * 60_000", "['x' * 3_000_000]", "x = []; x.append(x); x", "{(1, 2): 3}"])
    expect(Object.keys((await results(code)) ?? {}), code).toEqual(without);
});

describe.skipIf(reason !== "")(`values of packages${reason}`, () => {
  it("are the columns of a data frame, all rows of them", async () => {
    await using kernel = startPythonKernel({ python });
    const code =
      "import pandas as pd\npd.DataFrame({'n': range(300), 't': ['x' * 2_000] * 300, 'd': pd.to_datetime(['2024-01-02'] * 300)})";
    const { result } = await kernel.run(code, { forms });
    const data = result?.[DATA] as Readonly<Record<string, readonly unknown[]>>;
    expect([data["n"]?.length, data["n"]?.[299], String(data["t"]?.[0]).length, data["d"]?.[0]]).toEqual([
      300,
      299,
      2_000,
      "2024-01-02T00:00:00",
    ]);
    expect(result).toHaveProperty("text/html");
    const large = (await kernel.run("pd.DataFrame({'n': range(60_000)})", { forms })).result ?? {};
    expect([DATA in large, "text/html" in large]).toEqual([false, true]);
  });

  it.each([
    [
      "plt.plot([1, 2], [3, 4], label='a'); plt.title('T'); plt.xlabel('Time (s)'); plt.ylabel('Amplitude'); plt.yscale('log')",
      {
        type: "line",
        title: "T",
        x_label: "Time (s)",
        x_unit: "s",
        y_label: "Amplitude",
        y_unit: null,
        x_scale: "linear",
        y_scale: "log",
        elements: [
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
    ["plt.scatter([1], [2], label='s')", { type: "scatter", elements: [{ label: "s", points: [[1, 2]] }] }],
    [
      "plt.bar(['A', 'B'], [1, 2], label='sold')",
      {
        type: "bar",
        title: null,
        elements: [
          { label: "A", value: 1, group: "sold" },
          { label: "B", value: 2, group: "sold" },
        ],
      },
    ],
    [
      "plt.pie([1, 3], labels=['a', 'b'])",
      {
        type: "pie",
        elements: [
          { label: "a", angle: 90, radius: 1 },
          { label: "b", angle: 270, radius: 1 },
        ],
      },
    ],
    [
      "plt.boxplot([[1, 2, 3, 4, 5, 60]])",
      {
        type: "box_and_whisker",
        elements: [{ label: "1", min: 1, first_quartile: 2.25, median: 3.5, third_quartile: 4.75, max: 5, outliers: [60] }],
      },
    ],
    [
      "import datetime as d\nplt.plot([d.date(2024, 1, 1), d.date(2024, 1, 2)], [1, 2])",
      {
        type: "line",
        x_scale: "datetime",
        elements: [
          {
            label: "",
            points: [
              ["2024-01-01", 1],
              ["2024-01-02", 2],
            ],
          },
        ],
      },
    ],
    [
      "f, (a, b) = plt.subplots(2); a.plot([1]); b.bar([1], [2]); f.suptitle('both')",
      { type: "superchart", title: "both", elements: [{ type: "line" }, { type: "bar" }] },
    ],
    ["plt.imshow([[1, 2]])", { type: "unknown", elements: [] }],
  ])("are a chart: %s", async (code, chart) => {
    await using kernel = startPythonKernel({ python });
    const run = await kernel.run(`import matplotlib.pyplot as plt\n${code};\nplt.show()`, { forms });
    expect(run.error).toBeUndefined();
    expect(run.displays[0]?.[CHART]).toMatchObject(chart);
  });

  it("leave a chart of too many places out", async () => {
    await using kernel = startPythonKernel({ python });
    const { displays } = await kernel.run("import matplotlib.pyplot as plt\nplt.plot(range(20_000)); plt.show()", { forms });
    expect(Object.keys(displays[0] ?? {})).toEqual(expect.arrayContaining(["image/png"]));
    expect(displays[0]).not.toHaveProperty(CHART);
  });
});
