import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { JobProcess } from "../../../../src/runtime/namespace/states/job-process.ts";
import { LayerFolders } from "../../../../src/runtime/namespace/states/layer-folders.ts";
import { LayerJobs } from "../../../../src/runtime/namespace/states/layer-jobs.ts";
import { BINARY, makeHome, placeOf } from "../../../support/namespace-home.ts";

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bj-jobs-"));
});
afterEach(() => rm(folder, { recursive: true }));

interface Told {
  readonly said: string;
  readonly code: number;
}

function carryOut(jobs: JobProcess, input: Buffer): Promise<Told> {
  return new Promise((resolve, reject) => {
    let said = "";
    const ears = { output: () => {}, said: (text: Buffer) => void (said += text.toString()), lost: reject };
    jobs.begin(input, { ...ears, ended: (code) => resolve({ said, code }) });
  });
}

it("many jobs at once are told apart, long requests too", async () => {
  const jobs = new JobProcess(BINARY);
  const ends = await Promise.all(Array.from({ length: 100 }, (_, index) => carryOut(jobs, Buffer.alloc(1 + index * 2_000))));
  expect(ends.length).toBe(100);
  for (const end of ends) expect(end).toEqual({ said: "jail: not a specification of this version\n", code: 1 });
});

it("a job is killed, and nothing else is", async () => {
  await using home = await makeHome();
  const layer = { folder: join(folder, "layer"), files: join(folder, "layer/tree") };
  await mkdir(join(layer.folder, "tree"), { recursive: true });
  const holder = spawn("flock", [layer.folder, "sh", "-c", "echo locked; cat"], { stdio: ["pipe", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  const place = placeOf(home, { id: "a".repeat(20), generation: 1, folder });
  const jobs = new LayerJobs(BINARY);
  const cancelled = new AbortController();
  const order: string[] = [];
  const remove = (name: string, signal: AbortSignal): Promise<unknown> =>
    jobs.run({ kind: "remove", place, layer }, signal).catch((cause: { readonly code: string }) => order.push(`${name}: ${cause.code}`));
  const removals = [remove("first", soon()), remove("second", cancelled.signal)];
  cancelled.abort();
  await Promise.all(removals);
  expect(order).toEqual(["second: CANCELLED", "first: RUNTIME_UNAVAILABLE"]);
  holder.stdin.end();
  await once(holder, "close");
  expect(await jobs.run({ kind: "remove", place, layer }, soon())).toEqual([]);
});

it("a flush marks the layers that were finished in this boot", async () => {
  await using home = await makeHome();
  const folders = new LayerFolders(home.path, join(home.path, "pool"));
  const layers = [await folders.begin("home", "x"), await folders.begin("home", "x"), await folders.begin("home", "x")] as const;
  const boots = ["the-boot", "another-boot"];
  for (const [index, boot] of boots.entries()) await folders.finish({ ...(layers[index] ?? layers[0]), overlays: [], boot });
  const place = placeOf(home, { id: "a".repeat(20), generation: 1, folder });
  const jobs = new LayerJobs(BINARY);
  const job = { kind: "flush", place, layer: { folder: folders.all, files: folders.all }, boot: "the-boot" } as const;
  expect(await jobs.run(job, soon())).toEqual([]);
  const isMarked = (id: string): boolean => existsSync(join(folders.folder(id), "flushed"));
  expect(layers.map(({ id }) => isMarked(id))).toEqual([true, false, false]);
  await expect(jobs.run({ ...job, boot: undefined as never }, soon())).rejects.toThrow(expect.objectContaining({ code: "RUNTIME_FAILED" }));
});

it("the process of the jobs keeps nobody alive", async () => {
  const module = join(import.meta.dirname, "../../../../dist/lib/runtime/namespace/states/job-process.js");
  const script = `
    import { JobProcess } from ${JSON.stringify(module)};
    const ended = (code) => console.log("ended", code);
    new JobProcess(${JSON.stringify(BINARY)}).begin(Buffer.alloc(10), { output() {}, said() {}, lost() {}, ended });`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { signal: soon() });
  expect(stdout).toBe("ended 1\n");
});
