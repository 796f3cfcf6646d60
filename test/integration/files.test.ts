import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { NumberedFile } from "../../src/files/numbered-file.ts";
import { replaceFile } from "../../src/files/replace-file.ts";

const WORKER = join(import.meta.dirname, "../fixtures/files-worker.mjs");
const SIZE = 300_000;
const TIMES = 250;

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "bj-files-"))));
afterEach(() => rm(folder, { recursive: true }));

function startWorker(...args: readonly string[]) {
  return spawn(process.execPath, [WORKER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

it("makes each change of processes that change one numbered file at once, and makes it once", async () => {
  const names = ["a", "b", "c", "d"];
  const workers = names.map((name) => startWorker("add", folder, name, String(TIMES)));
  const codes = await Promise.all(workers.map(async (worker) => ((await once(worker, "exit")) as [number])[0]));
  expect(codes).toEqual([0, 0, 0, 0]);
  const parse = (text: string) => JSON.parse(text) as readonly string[];
  const file = new NumberedFile({ folder, name: "words", title: "the words", serialise: JSON.stringify, parse });
  const { number, value } = await file.read([]);
  const wanted = names.flatMap((name) => Array.from({ length: TIMES }, (_, round) => `${name}${round}`));
  expect([value.length, new Set(value)]).toEqual([wanted.length, new Set(wanted)]);
  expect(number).toBe(wanted.length);
  expect(await readdir(folder)).toEqual([`words.${number}.json`]);
});

it("leaves a whole file when a process that replaces it is killed, and can be replaced after that", async () => {
  const path = join(folder, "a");
  for (let round = 0; round < 8; round += 1) {
    const worker = startWorker("replace", path);
    // The kill comes at another point of a replacement each time.
    for (let seen = 0; seen <= round;) seen += ((await once(worker.stdout, "data")) as [Buffer])[0].length;
    worker.kill("SIGKILL");
    await once(worker, "close");
    const text = await readFile(path, "latin1");
    expect([text.length, text === (text[0] ?? "").repeat(SIZE)]).toEqual([SIZE, true]);
  }
  await replaceFile(path, "after");
  expect(await readFile(path, "utf8")).toBe("after");
});
