import { fork } from "node:child_process";
import { join } from "node:path";
import { judge } from "./table.mjs";

const LIMIT_MS = 180_000;

/**
 * The rows of one measurement, made in a process of its own. Aborted after three minutes, or the time that it asks for: a busy machine is
 * slow. One that fails or is aborted has a row that says so, behind those that it gave before; so has one that is for root alone, which is
 * no failure.
 */
export async function measure(name, { from, checkout, options, isRoot }) {
  const path = join(checkout, from, `${name}.mjs`);
  const { limitMs = LIMIT_MS, needsRoot = false } = await import(path);
  if (needsRoot && !isRoot) return [{ what: name, omitted: "root alone may measure it" }];
  const child = fork(join(checkout, "bench/measure.mjs"), [path], { stdio: ["ignore", 2, 2, "ipc"], ...options });
  let rows = [];
  child.once("message", (given) => (rows = given));
  let isLate = false;
  const timer = setTimeout(() => (isLate = child.kill("SIGKILL")), limitMs);
  const { code, signal } = await ended(child);
  clearTimeout(timer);
  const failed = isLate ? `cut off after ${limitMs / 1000} s` : whyFailed({ code, signal, rows });
  return [...rows.map(judge), ...(failed === undefined ? [] : [{ what: name, failed }])];
}

function whyFailed({ code, signal, rows }) {
  if (signal !== null) return `ended by ${signal}`;
  if (code !== 0) return `ended with exit code ${code}`;
  return rows.length === 0 ? "gave no figures" : undefined;
}

function ended(child) {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: error.code, signal: null }));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}
