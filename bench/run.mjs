/** `npm run bench [-- --only NAME] [--quick] [--json FILE] [--markdown FILE]`: the figures of docs/benchmarks.md on this machine, as the present user and, when that is root, as an ordinary one too. */
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Problem, ROOT, cleanEnv, main, run, say } from "../scripts/lib.mjs";
import { openTestUser } from "../scripts/test-user.mjs";
import { BASES } from "./harness.mjs";
import { describeMachine } from "./machine.mjs";
import { measure } from "./measurement.mjs";
import { writeReport } from "./report.mjs";
import { textTable } from "./table.mjs";

const OPTIONS = {
  only: { type: "string", multiple: true },
  json: { type: "string" },
  markdown: { type: "string" },
  /** As the present user alone. */
  alone: { type: "boolean" },
  /** A hundredth of all: does every measurement still work? The figures say nothing. */
  quick: { type: "boolean", default: false },
  /** Another folder of measurements, in the checkout. */
  from: { type: "string", default: "bench/measurements" },
};

/** The folder in which all homes have their base: none is measured while it makes one. */
function openBases({ uid, gid }) {
  const folder = mkdtempSync(join(tmpdir(), "bjb-bases-"));
  if (uid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

async function measureAs(who, names, person) {
  const rows = [];
  const bases = openBases(person.options);
  const options = { ...person.options, env: { ...person.options.env, [BASES]: bases } };
  try {
    for (const name of names) {
      say(`Measuring ${name}, as ${who} ...`);
      rows.push(...(await measure(name, { ...person, options })));
    }
  } finally {
    rmSync(bases, { recursive: true, force: true });
  }
  process.stdout.write(`\nAs ${who}:\n\n${textTable(rows)}\n\n`);
  for (const { what, note } of rows.filter((row) => row.note)) process.stdout.write(`${what}: ${note}\n`);
  return { who, rows };
}

async function measureAsUser(names, { from, extra }) {
  const user = await openTestUser();
  try {
    return await measureAs("an ordinary user", names, {
      ...user,
      from,
      isRoot: false,
      options: { ...user.options, env: { ...user.options.env, ...extra } },
    });
  } finally {
    await user.close();
  }
}

function report(result, { json, markdown }) {
  if (json) writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`);
  if (markdown) writeReport(markdown, result);
  const failed = result.suites.flatMap(({ who, rows }) => rows.filter((row) => row.failed).map(({ what }) => `${what} (as ${who})`));
  if (failed.length > 0) throw new Problem(`Not measured, and the table says so: ${failed.join(", ")}`);
}

await main(async () => {
  const { values } = parseArgs({ options: OPTIONS });
  const { from, quick, markdown } = values;
  if (quick && markdown) throw new Problem("--quick gives no figures to keep: leave out --markdown");
  const known = readdirSync(join(ROOT, from)).map((file) => file.replace(/\.mjs$/, ""));
  const names = values.only ?? known;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Problem(`No measurement ${unknown.join(", ")}; there are ${known.join(", ")}`);
  run([process.execPath, "scripts/build.mjs"], { what: "Build" });
  const isRoot = process.getuid?.() === 0;
  const extra = quick ? { BELLJAR_BENCH_QUICK: "1" } : {};
  const person = { from, checkout: ROOT, isRoot, options: { env: cleanEnv(extra) } };
  const suites = [await measureAs(isRoot ? "root" : "an ordinary user", names, person)];
  if (isRoot && !values.alone) suites.push(await measureAsUser(names, { from, extra }));
  report({ at: new Date().toISOString(), machine: describeMachine(), suites }, values);
});
