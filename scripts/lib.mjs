/** What the scripts share. Plain Node: the scripts run before any package is installed. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "..");

/** The environment for children: without the variable that slows each start of Node. */
export function cleanEnv(extra = {}) {
  const env = { ...process.env, ...extra };
  delete env.NODE_EXTRA_CA_CERTS;
  return env;
}

/** What a person can mend; printed without a stack. */
export class Problem extends Error {}

export const say = (text) => process.stderr.write(`${text}\n`);

/** Runs to the end with our terminal; throws a Problem when it fails. */
export function run(argv, { what = argv.join(" "), env = {}, cwd = ROOT } = {}) {
  const [command, ...args] = argv;
  const { status, signal, error } = spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2], env: cleanEnv(env) });
  if (error) throw new Problem(`${what}: cannot run ${command} (${error.code})`);
  if (status !== 0) throw new Problem(`${what} failed (${signal ?? `exit code ${status}`})`);
}

export function has(command) {
  return (process.env.PATH ?? "").split(":").some((folder) => folder !== "" && isProgram(join(folder, command)));
}

/** PATH may name folders that this user may not enter, as after `su`. */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Runs, shows and collects what it prints. */
export function runAndRead(argv, options) {
  const [command, ...args] = argv;
  return new Promise((done, fail) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", 2], ...options });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      process.stdout.write(chunk);
      text = (text + chunk).slice(-4096);
    });
    child.on("error", fail);
    child.on("close", (code) => done({ code: code ?? 1, text }));
  });
}

/** Changes when a file below the paths is added, removed or written. */
export function fingerprint(paths, skip = () => false) {
  const hash = createHash("sha256");
  const visit = (path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat || skip(path)) return;
    if (stat.isDirectory()) for (const name of readdirSync(path).toSorted()) visit(join(path, name));
    else hash.update(`${path}\0${stat.size}\0${stat.mtimeMs}\n`);
  };
  for (const path of paths) visit(join(ROOT, path));
  return hash.digest("hex");
}

/** Ends a script as a person expects it: a Problem is one line, anything else keeps its stack. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(`\n${error.message}`);
    process.exitCode = 1;
  }
}
