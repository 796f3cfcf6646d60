/** `npm run bench [-- --only NAME] [--json FILE] [--markdown FILE]`: the figures of docs/benchmarks.md on this machine, as the present user and, when that is root, as an ordinary one too. */
import { fork } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Problem, ROOT, cleanEnv, main, run, say } from "../scripts/lib.mjs";
import { openTestUser } from "../scripts/test-user.mjs";
import { describeMachine } from "./machine.mjs";
import { writeReport } from "./report.mjs";
import { judge, textTable } from "./table.mjs";

const LIMIT_MS = 60_000;
const NAMES = readdirSync(join(ROOT, "bench/measurements")).map((file) => file.replace(/\.mjs$/, ""));
const OPTIONS = { only: { type: "string", multiple: true }, json: { type: "string" }, markdown: { type: "string" } };

/** The rows of one measurement, made in a process of its own. Aborted after a minute, or the time that it asks for. */
async function measure(name, { checkout, options }) {
  const { limitMs = LIMIT_MS } = await import(`./measurements/${name}.mjs`);
  const child = fork(join(checkout, "bench/measure.mjs"), [name], { stdio: ["ignore", 2, 2, "ipc"], ...options });
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const [rows] = await Promise.all([firstMessage(child), ended(child)]);
  clearTimeout(timer);
  if (!rows) say(`${name} gave no figures`);
  return (rows ?? []).map(judge);
}

function firstMessage(child) {
  return new Promise((resolve) => {
    child.once("message", resolve);
    child.once("close", () => resolve(undefined));
  });
}

function ended(child) {
  return new Promise((resolve) => child.once("close", resolve));
}

async function measureAs(who, names, person) {
  const rows = [];
  for (const name of names) {
    say(`Measuring ${name}, as ${who} ...`);
    rows.push(...(await measure(name, person)));
  }
  process.stdout.write(`\nAs ${who}:\n\n${textTable(rows)}\n\n`);
  for (const { what, note } of rows.filter((row) => row.note)) process.stdout.write(`${what}: ${note}\n`);
  return { who, rows };
}

async function measureAsUser(names) {
  const user = await openTestUser();
  try {
    return await measureAs("an ordinary user", names, user);
  } finally {
    await user.close();
  }
}

await main(async () => {
  const { values } = parseArgs({ options: OPTIONS });
  const names = values.only ?? NAMES;
  const unknown = names.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0) throw new Problem(`No measurement ${unknown.join(", ")}; there are ${NAMES.join(", ")}`);
  run([process.execPath, "scripts/build.mjs"], { what: "Build" });
  const isRoot = process.getuid?.() === 0;
  const suites = [await measureAs(isRoot ? "root" : "an ordinary user", names, { checkout: ROOT, options: { env: cleanEnv() } })];
  if (isRoot) suites.push(await measureAsUser(names));
  const result = { at: new Date().toISOString(), machine: describeMachine(), suites };
  if (values.json) writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  if (values.markdown) writeReport(values.markdown, result);
});
