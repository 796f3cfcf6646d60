import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { randomNumbers, readSeed } from "../../support/crash-home.ts";
import { type Done, type FaultWorker, startFaultWorker, type TemplateLook } from "../../support/faults/fault-worker.ts";
import type { TemplateOperation } from "../../support/faults/operation.ts";
import { type FaultImage, TemplateModel } from "../../support/faults/template-model.ts";
import { childrenOf, findTraces, NO_TRACES } from "../../support/home-traces.ts";
import { addImage, BlobStore, tarOf, writeLayout } from "../../support/image-maker.ts";
import { openStateHome, type StateHome, untilFlushed } from "../../support/state-home.ts";

/** `npm run faults` makes 200. */
const KILLS = Number(process.env["BELLJAR_TEST_TEMPLATE_KILLS"] ?? 12);
const KILL_MS = 10_000;
/** A little more than an import takes, and a prune. */
const LATEST_MS = 600;
const LATEST_PRUNE_MS = 60;
/** The process that imports, and one of those that it has started: what unpacks, works on layers or keeps a sandbox. */
const VICTIMS = ["worker", "worker", "helper", "both"] as const;
const DETAILS = process.env["BELLJAR_TEST_DETAILS"] !== undefined;
const LAYERS_MAX = 9;
const FILES = 150;

interface Image extends FaultImage, AsyncDisposable {}

/** Of so many layers: all but the topmost are those of other images too, and more than seven become one. */
async function makeImage(own: string, count: number, isArchive = false): Promise<Image> {
  const store = new BlobStore();
  const textOf = (layer: number): string => (layer < count - 1 ? "shared" : layer === count - 1 ? own : "");
  const paths = Array.from({ length: LAYERS_MAX }, (_, layer) => [`/last-${layer}`, textOf(layer)] as const);
  const plains = Array.from({ length: count }, (_, layer) => tarOf(filesOf(layer, textOf(layer))));
  const manifest = addImage(store, { layers: plains.map((plain) => ({ plain })) });
  const folder = await writeLayout(store, [manifest]);
  const image = { ...folder, digest: manifest.digest, texts: Object.fromEntries(paths) };
  if (!isArchive) return image;
  const path = join(folder.path, "image.tar.gz");
  await writeFile(path, gzipSync(execFileSync("tar", ["-C", folder.path, "-c", "."], { maxBuffer: 2 ** 28 })));
  return { ...image, path };
}

/** Of three steps, of which the first is the same in all that begin with the image. */
function buildOf({ path, digest, texts }: Image, name: string): FaultImage {
  const dockerfile = `FROM ${path}\nWORKDIR /same\nWORKDIR /of/${name}\nCOPY --from=${path} /last-0 /copied-${name}\n`;
  return { path, dockerfile, digest: `${name} of ${digest.slice(-12)}`, texts };
}

function filesOf(layer: number, text: string): Readonly<Record<string, string>> {
  const files = Array.from({ length: FILES }, (_, index) => [`layer-${layer}/file-${index}`, text.repeat(index * 10)] as const);
  return Object.fromEntries([...files, [`last-${layer}`, text]]);
}

/** Some process that this one has started, itself or by another one. Undefined: there is none. */
function someHelper(worker: number, random: () => number): number | undefined {
  const children = childrenOf(worker);
  const all = [...children, ...children.flatMap(childrenOf), ...children.flatMap(childrenOf).flatMap(childrenOf)];
  return all[Math.floor(random() * all.length)];
}

function killIfThere(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

async function done(worker: FaultWorker, request: TemplateOperation | TemplateLook): Promise<Done> {
  const outcome = await worker.ask(request).outcome;
  if (outcome === "unknown" || !("done" in outcome)) throw new Error(`${JSON.stringify(request)}: ${JSON.stringify(outcome)}`);
  return outcome.done;
}

/** A new process finds the home whole: each template as a whole, and nothing else. */
async function look(worker: FaultWorker, model: TemplateModel): Promise<void> {
  const { templates = [], left } = await done(worker, { kind: "lookTemplates", start: model.start });
  model.check(templates);
  expect([left, worker.problems]).toEqual([[], []]);
}

/** Lets a process begin an operation, and kills it or one that it has started some moments later. */
async function strike(worker: FaultWorker, model: TemplateModel, random: () => number): Promise<void> {
  const operation = model.choose(random);
  const victim = VICTIMS[Math.floor(random() * VICTIMS.length)];
  const asked = worker.ask(operation);
  await asked.begun;
  await wait(random() * (operation.kind === "pruneTemplates" ? LATEST_PRUNE_MS : LATEST_MS));
  const isHit = victim !== "worker" && killIfThere(someHelper(worker.pid, random));
  if (victim !== "helper") await worker.kill();
  const outcome = await asked.outcome;
  if (DETAILS) process.stderr.write(`${JSON.stringify([operation, victim, isHit, outcome])}\n`);
  model.settle(operation, outcome, isHit);
}

/** All is removed in the common way. Then nothing is left of any process. */
async function clearAll(home: StateHome, model: TemplateModel): Promise<void> {
  const worker = startFaultWorker(home.crash);
  await look(worker, model);
  for (const name of model.names) await done(worker, { kind: "removeTemplate", name });
  await done(worker, { kind: "pruneTemplates" });
  expect((await done(worker, { kind: "lookTemplates", start: {} })).left).toEqual([]);
  await worker.kill();
  await untilFlushed(home.crash.home);
  expect([await home.layers(), home.problems]).toEqual([[], []]);
}

it(
  "a process that is killed with -9 while it imports an image, builds, or prunes, or its helper, loses no template, leaves none in part, and leaks nothing",
  { timeout: KILLS * KILL_MS + 60_000 },
  async () => {
    const random = randomNumbers(readSeed());
    await using one = await makeImage("one", 3);
    await using two = await makeImage("two", 3);
    await using many = await makeImage("many", LAYERS_MAX);
    await using archive = await makeImage("archive", 2, true);
    await using home = await openStateHome();
    const built = [one, many].flatMap((image) => [buildOf(image, "a"), buildOf(image, "b")]);
    const model = new TemplateModel([one, two, many, archive, ...built], ["first", "second"]);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const worker = startFaultWorker(home.crash);
      try {
        await look(worker, model);
        await strike(worker, model, random);
      } catch (cause) {
        throw new Error(`Kill ${kill}: ${String(cause)}`, { cause });
      } finally {
        await worker.kill();
      }
    }
    await clearAll(home, model);
    expect(findTraces(home.crash)).toEqual(NO_TRACES);
  },
);
