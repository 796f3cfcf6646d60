import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { Duplex, Readable, Writable } from "node:stream";
import { raceLasting } from "../../async/race-lasting.ts";
import type { ExecExit, ExecProcess } from "../../sandbox/sandbox.ts";
import { MarkedOutput } from "./marked-output.ts";

const SIGNAL_BITS = 0x7f;
const FACTS = { timedOut: false, durationMs: 0, cpuMs: 0, memoryPeakBytes: 0 } as const;

/**
 * A harness that answers one order after another, each in a process of its own. Whoever began an order waits for its end before the next
 * one. It ends with its sandbox.
 */
export class ServingHarness {
  readonly #process: ExecProcess;
  #isOver = false;

  constructor(process: ExecProcess) {
    this.#process = process;
    const over = (): void => void (this.#isOver = true);
    process.exited.then(over, over);
    // What comes between two orders is nobody's, and must not hold up whoever says it.
    for (const stream of [process.stdout, process.stderr, ...process.channels]) stream.on("error", over).resume();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The next order, as a process of its own: the order is what is written to its stdin. Giving it up before its end ends the harness. */
  begin(): ExecProcess {
    const mark = randomBytes(16).toString("hex");
    const { pid, stdout, stderr, channels, exited } = this.#process;
    const [channel] = channels;
    if (!channel) throw new TypeError("A harness has one channel");
    const silent = { read: () => undefined };
    const [out, err] = [new Readable(silent), new Readable(silent)];
    const answers = new Duplex({ ...silent, write: (chunk: Buffer, _encoding, done) => void channel.write(chunk, () => done()) });
    const outputs = [follow(stdout, out, mark), follow(stderr, err, mark), follow(channel, answers, mark)];
    const ended = Promise.all(outputs.map(({ marked }) => marked)).then(([status = 0]) => exitOf(status));
    const ends = raceLasting(exited, ended).finally(() => outputs.forEach((output) => output.stop()));
    ends.catch(() => undefined);
    let isDone = false;
    void ended.then(() => (isDone = true));
    return {
      pid,
      stdin: orderTo(channel, mark),
      stdout: out,
      stderr: err,
      channels: [answers],
      exited: ends,
      kill: (signalNumber) => this.#process.kill(signalNumber),
      resize: () => undefined,
      [Symbol.asyncDispose]: async () => void (isDone || (await this.end())),
    };
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#process[Symbol.asyncDispose]();
  }
}

/** All that is written, as one line behind the mark. */
function orderTo(channel: Duplex, mark: string): Writable {
  const parts: Buffer[] = [];
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      parts.push(chunk);
      done();
    },
    final(done) {
      channel.write(Buffer.concat([Buffer.from(`${mark} `), ...parts, Buffer.from("\n")]));
      done();
    },
  });
}

interface Followed {
  /** Resolves with the status behind the mark. */
  readonly marked: Promise<number>;
  readonly stop: () => void;
}

function follow(source: Readable, into: Readable, mark: string): Followed {
  const output = new MarkedOutput(mark, (chunk) => into.push(chunk));
  let take = (_chunk: Buffer): void => undefined;
  const marked = new Promise<number>((resolve) => {
    take = (chunk) => {
      output.push(chunk);
      if (output.status !== undefined) resolve(output.status);
    };
  });
  source.on("data", take);
  return { marked, stop: () => (source.off("data", take), into.push(null)) };
}

/** As the kernel tells it to whoever waits for a process. */
function exitOf(status: number): ExecExit {
  const number = status & SIGNAL_BITS;
  if (number === 0) return { ...FACTS, exitCode: status >> 8, signal: undefined };
  const name = Object.entries(constants.signals).find(([, one]) => one === number)?.[0] ?? `SIG${number}`;
  return { ...FACTS, exitCode: undefined, signal: name };
}
