import { once } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { type Block, broken, writeFrameHeader } from "./zstd-frames.ts";

export interface ZstdTime {
  /** What any stream may take. */
  readonly freeMs: number;
  /** What it may take more, for what it has yielded. */
  readonly bytesPerMs: number;
}

/** A tenth of the speed of a usual layer, on a machine that does nothing else. */
const TIME: ZstdTime = { freeMs: 5_000, bytesPerMs: 2_000 };

/** One block after the other. A frame's first has the header before it, and gets a decoder of its own. */
const PROGRAM = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { Decompress } = require(workerData);
  let decoder, pieces;
  parentPort.on("message", ({ bytes, isFirst, isLast }) => {
    pieces = [];
    if (isFirst) decoder = new Decompress((piece) => pieces.push(piece));
    try {
      decoder.push(bytes, isLast);
      parentPort.postMessage({ pieces });
    } catch (error) {
      parentPort.postMessage({ problem: String(error.message) });
    }
  });
`;

type Answer = { readonly pieces: readonly Uint8Array[] } | { readonly problem: string };

/**
 * A thread that decodes the blocks of one stream. A block of 20 bytes can make the decoder copy gigabytes, so all blocks together have a
 * time, and the thread ends with it.
 */
export class ZstdThread implements AsyncDisposable {
  readonly #time: ZstdTime;
  #worker: Worker | undefined;
  #spentMs = 0;
  #yieldedBytes = 0;

  constructor(time: ZstdTime = TIME) {
    this.#time = time;
  }

  /** Resolves with what the block yields. `window` is given with the first block of a frame. Rejects with `IMAGE_INVALID`. */
  async decode({ bytes, isLast }: Block, window?: number): Promise<Uint8Array> {
    const isFirst = window !== undefined;
    const request = { bytes: isFirst ? Buffer.concat([writeFrameHeader(window), bytes]) : bytes, isFirst, isLast };
    const started = performance.now();
    const answer = await this.#ask(request);
    this.#spentMs += performance.now() - started;
    if ("problem" in answer) throw broken(`one of its blocks is invalid (${answer.problem})`);
    const whole = Buffer.concat(answer.pieces);
    this.#yieldedBytes += whole.length;
    return whole;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
  }

  async #ask(request: object): Promise<Answer> {
    const worker = (this.#worker ??= startWorker());
    const { freeMs, bytesPerMs } = this.#time;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), freeMs + this.#yieldedBytes / bytesPerMs - this.#spentMs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    worker.postMessage(request);
    try {
      const [answer] = (await once(worker, "message", { signal: late.signal })) as [Answer];
      return answer;
    } catch (cause) {
      throw late.signal.aborted ? broken("it takes far longer to decode than what it holds") : cause;
    } finally {
      clearTimeout(timer);
    }
  }
}

function startWorker(): Worker {
  const require = createRequire(import.meta.url);
  return new Worker(PROGRAM, { eval: true, workerData: require.resolve("fzstd"), env: {}, execArgv: [] });
}
