import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Runs the bench on measurements of the tests, as the present user alone. */
const bench = (...names: readonly string[]) =>
  runBench(["--from", "test/fixtures/measurements", ...names.flatMap((name) => ["--only", name])]);

async function runBench(options: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "bj-bench-"));
  try {
    const [json, markdown] = [join(folder, "bench.json"), join(folder, "bench.md")];
    const files = ["--json", json, ...(options.includes("--quick") ? [] : ["--markdown", markdown])];
    const argv = [join(ROOT, "bench/run.mjs"), "--alone", ...files, ...options];
    const { code, out, err } = await ended(argv);
    const { suites } = JSON.parse(await readFile(json, "utf8")) as { suites: { rows: { what: string; failed?: string }[] }[] };
    return {
      code,
      out,
      err,
      rows: suites.flatMap((suite) => suite.rows),
      markdown: files.includes(markdown) ? await readFile(markdown, "utf8") : "",
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function ended(argv: readonly string[]): Promise<{ readonly code: unknown; readonly out: string; readonly err: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, argv, { cwd: ROOT }, (error, out, err) => resolve({ code: error ? error.code : 0, out, err })),
  );
}

it("ends well when every measurement gave its figures", async () => {
  const { code, rows, err } = await bench("good");
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(rows).toMatchObject([{ what: "a good one" }]);
});

it("has a row for each measurement that could not be made, and a non-zero exit", async () => {
  const { code, rows, out, err, markdown } = await bench("throws", "endless", "empty", "unsampled", "good");
  const failed = [
    { what: "throws", failed: "ended with exit code 1" },
    { what: "endless", failed: "cut off after 2 s" },
    { what: "empty", failed: "gave no figures" },
    { what: "a lost one", failed: "no samples" },
  ];
  expect(rows).toMatchObject([...failed, { what: "a good one" }]);
  for (const row of failed) {
    expect(out).toContain(`failed: ${row.failed}`);
    expect(markdown).toContain(`| ${row.what} | **failed: ${row.failed}** |`);
    expect(err).toMatch(new RegExp(`Not measured, and the table says so: .*${row.what} \\(as `));
  }
  expect(markdown).toMatch(/goals are reached\. Not measured: throws; endless; empty; a lost one\./);
  expect(code).toBe(1);
});

it("has a row for what a measurement leaves out, which is no failure", async () => {
  const { code, rows, out, markdown } = await bench("left-out");
  expect(rows).toMatchObject([{ what: "beside an engine", omitted: "no engine" }, { what: "a good one" }]);
  expect(out).toMatch(/^beside an engine +left out: no engine$/m);
  expect(markdown).toContain("| beside an engine | left out: no engine |");
  expect(code).toBe(0);
});

it("gives figures for every measurement of Belljar", async () => {
  const { code, rows, err } = await runBench(["--quick"]);
  const failed = rows.filter((row) => row.failed !== undefined);
  expect(failed, failed.length > 0 ? err : "").toEqual([]);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(rows.length).toBeGreaterThan(25);
}, 1_200_000);

it("keeps no figures of a quick run", async () => {
  const { code, err } = await ended([join(ROOT, "bench/run.mjs"), "--alone", "--quick", "--markdown", "nowhere.md"]);
  expect(code).toBe(1);
  expect(err).toContain("leave out --markdown");
});
