import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { BELLJAR, NEVER, scaled, spawnPlain, summarise, time } from "../harness.mjs";

const PACKAGES = 250;
const FILES_EACH = 20;
const SOURCES = 200;
const CHANGED = 20;
const RUNS = 12;

/** `belljar diff` in a repository that ignores `node_modules`, from the start of the process to its end, beside a bare start of Node. */
export async function measure(home) {
  const project = makeProject(home.folder);
  const sandbox = await home.create({ workspace: { path: project, mode: "copy" } });
  const script = `for i in $(seq ${CHANGED}); do echo changed >> src/file-$i.js; done`;
  const { exitCode } = await sandbox.guest.run({ argv: ["sh", "-c", script], signal: NEVER });
  if (exitCode !== 0) throw new Error("The sandbox could not change its files");
  const samples = { measured: [], reference: [] };
  for (let run = 0; run <= scaled(RUNS); run += 1) {
    const reference = await time(() => spawnPlain(process.execPath, ["-e", "0"]));
    const measured = await time(() => diff(project, home.env));
    // The first run finds cold caches.
    if (run > 0) for (const [name, took] of Object.entries({ measured, reference })) samples[name].push(took);
  }
  return [
    {
      what: `belljar diff, ${PACKAGES * FILES_EACH} files of node_modules and ${CHANGED} changed`,
      most: 300,
      beside: "node -e 0",
      measured: summarise(samples.measured),
      reference: summarise(samples.reference),
    },
  ];
}

function makeProject(folder) {
  const project = join(folder, "project");
  for (let index = 0; index < PACKAGES; index += 1) {
    const place = join(project, `node_modules/package-${index}`);
    mkdirSync(place, { recursive: true });
    for (let file = 0; file < FILES_EACH; file += 1) writeFileSync(join(place, `file-${file}.js`), `export default ${file};\n`);
  }
  mkdirSync(join(project, "src"));
  for (let index = 0; index < SOURCES; index += 1) writeFileSync(join(project, `src/file-${index}.js`), "one\ntwo\nthree\n");
  writeFileSync(join(project, ".gitignore"), "node_modules/\n");
  for (const argv of [
    ["init", "-q"],
    ["add", "-A"],
    ["-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "start"],
  ]) {
    execFileSync("git", argv, { cwd: project });
  }
  return project;
}

async function diff(cwd, env) {
  const { stdout } = await promisify(execFile)(process.execPath, [BELLJAR, "diff"], { cwd, env });
  const changed = stdout.split("\n").filter((line) => line.startsWith("M ")).length;
  if (changed !== CHANGED) throw new Error(`It shows ${changed} changes`);
}
