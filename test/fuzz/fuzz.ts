/** Fuzzes one target: `node fuzz.js TARGET SECONDS FOLDER [--keep]`; without arguments, prints the targets. The thread below runs the inputs; this one watches it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { nameOf, openCorpus } from "./corpus.ts";
import { openCoverage } from "./coverage.ts";
import { fuzzLoop } from "./fuzz-loop.ts";
import { INPUT_MAX_BYTES } from "./mutate.ts";
import { targets } from "./targets.ts";

/** An input of 4 KiB that takes longer, on a machine that does other work too, is a hang. */
const HANG_MS = 20_000;
const HEAP_MB = 512;

interface Job {
  readonly name: string;
  readonly seconds: number;
  readonly folder: string;
  readonly isKept: boolean;
  /** The number of inputs so far, the length of the present one, and its bytes. */
  readonly state: SharedArrayBuffer;
}

const STATE_WORDS = 2;

async function runThread({ name, seconds, folder, isKept, state }: Job): Promise<void> {
  const load = targets[name];
  if (!load) throw new Error(`No target "${name}"; there are ${Object.keys(targets).join(", ")}`);
  const target = await load();
  const words = new Int32Array(state, 0, STATE_WORDS);
  const bytes = new Uint8Array(state, STATE_WORDS * 4);
  using coverage = openCoverage(new URL(".", import.meta.url).href);
  const seed = Number(process.hrtime.bigint() & 0x7fff_ffffn);
  const count = await fuzzLoop({
    target,
    coverage,
    seed,
    corpus: openCorpus(join(folder, "corpus", name), { isKept }),
    until: Date.now() + seconds * 1_000,
    before: (input) => {
      bytes.set(input);
      words[1] = input.length;
      Atomics.add(words, 0, 1);
    },
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(count);
}

function watch(job: Job): Promise<number> {
  const words = new Int32Array(job.state, 0, STATE_WORDS);
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: job, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  return new Promise((resolve, reject) => {
    let last = -1;
    const timer = setInterval(() => {
      const now = Atomics.load(words, 0);
      if (now === last) fail(new Error(`no answer for ${HANG_MS} ms`));
      last = now;
    }, HANG_MS);
    const finish = (): void => {
      clearInterval(timer);
      void worker.terminate();
    };
    const fail = (cause: unknown): void => {
      finish();
      reject(cause instanceof Error ? cause : new Error(String(cause)));
    };
    worker.on("error", fail).on("message", (count: number) => {
      finish();
      resolve(count);
    });
  });
}

/** Keeps the input that was running. */
function saveFinding({ name, folder, state }: Job): { readonly path: string; readonly input: Buffer } {
  const length = new Int32Array(state, 0, STATE_WORDS)[1] ?? 0;
  const input = Buffer.from(state, STATE_WORDS * 4, length);
  const path = join(folder, "findings", `${name}-${nameOf(input)}`);
  mkdirSync(join(folder, "findings"), { recursive: true });
  writeFileSync(path, input);
  return { path, input };
}

async function main([name, seconds = "60", folder = "test/fuzz", keep]: readonly string[]): Promise<void> {
  if (name === undefined) return void process.stdout.write(`${Object.keys(targets).join("\n")}\n`);
  const state = new SharedArrayBuffer(STATE_WORDS * 4 + INPUT_MAX_BYTES);
  const job: Job = { name, seconds: Number(seconds), folder, isKept: keep === "--keep", state };
  try {
    process.stdout.write(`${name}: ${await watch(job)} inputs, no finding\n`);
  } catch (error) {
    process.stdout.write(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    const { path, input } = saveFinding(job);
    process.stdout.write(`${name}: the input lies in ${path}\n`);
    process.stdout.write(`finding: ${name}: ${String(error).split("\n", 1)[0]}; the input in base64: ${input.toString("base64")}\n`);
    process.exitCode = 1;
  }
}

await (isMainThread ? main(process.argv.slice(2)) : runThread(workerData as Job));
