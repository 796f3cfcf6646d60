import { createNovelty } from "./coverage.ts";
import type { Coverage } from "./coverage.ts";
import type { Corpus } from "./corpus.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { mutate } from "./mutate.ts";
import { createRandom } from "./random.ts";
import type { Random } from "./random.ts";

/** Reading the counts takes milliseconds, most inputs microseconds: the counts are read once for so many. */
const BATCH = 512;

export interface FuzzLoopOptions {
  readonly target: FuzzTarget;
  readonly corpus: Corpus;
  readonly coverage: Coverage;
  readonly seed: number;
  readonly until: number;
  /** Told before each input runs, so that a thread that never comes back can be blamed on it. */
  before(input: Buffer): void;
}

/** Runs inputs until the time is over; what reaches new code is kept. Throws what the target throws. Resolves with the number of inputs. */
export async function fuzzLoop(options: FuzzLoopOptions): Promise<number> {
  const { target, corpus, coverage, seed, until } = options;
  await using open = await target.open();
  let count = 0;
  const run = async (input: Buffer): Promise<void> => {
    count += 1;
    options.before(input);
    await open.run(input);
  };
  const [isNew, isNewBatch] = [createNovelty(), createNovelty()];
  const measured = async (input: Buffer): Promise<boolean> => {
    await run(input);
    return isNew(coverage.take());
  };
  const inputs = await replay(measured, { target, corpus });
  const random = createRandom(seed);
  const words = (target.words ?? []).map((word) => Buffer.from(word));
  while (Date.now() < until) {
    const batch = Array.from({ length: BATCH }, () => makeInput(inputs, words, random));
    for (const input of batch) await run(input);
    if (!isNewBatch(coverage.take().map(withoutCount))) continue;
    for (const input of batch) {
      if (!(await measured(input))) continue;
      inputs.push(input);
      corpus.keep(input);
    }
  }
  return count;
}

/** The seeds and the kept inputs; one that adds nothing leaves the corpus. */
async function replay(
  measured: (input: Buffer) => Promise<boolean>,
  { target, corpus }: Pick<FuzzLoopOptions, "target" | "corpus">,
): Promise<Buffer[]> {
  const inputs: Buffer[] = target.seeds.map((seed) => Buffer.from(seed));
  for (const seed of inputs) await measured(seed);
  for (const input of corpus.load()) {
    if (await measured(input)) inputs.push(input);
    else corpus.drop(input);
  }
  return inputs;
}

function makeInput(inputs: readonly Buffer[], words: readonly Uint8Array[], random: Random): Buffer {
  const empty = Buffer.alloc(0);
  return mutate(random.pick(inputs) ?? empty, { random, words, other: random.pick(inputs) ?? empty });
}

/** The sums of a batch say only which blocks ran. */
function withoutCount(feature: string): string {
  return feature.slice(0, feature.indexOf(":"));
}
