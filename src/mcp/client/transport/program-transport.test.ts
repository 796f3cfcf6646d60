import { once } from "node:events";
import { PassThrough, type Writable } from "node:stream";
import { expect, it } from "vitest";
import { ProgramTransport } from "./program-transport.ts";

/** A program whose stdout is a stream of the test. */
class Program extends ProgramTransport {
  readonly pid = null;
  readonly stdout = new PassThrough();
  readonly #stdin = new PassThrough();

  async start(): Promise<void> {
    this.hear(this.stdout);
  }
  async close(): Promise<void> {}
  ending(): undefined {}
  protected stdin(): Writable {
    return this.#stdin;
  }
}

it("a program that talks without end, and nobody asks it, is read at a pace", async () => {
  const program = new Program("near");
  let heard = 0;
  program.onmessage = () => void (heard += 1);
  await program.start();
  const told = Buffer.from(`{"jsonrpc":"2.0","method":"x","params":{"a":[${"[],".repeat(60_000)}0]}}\n`);
  for (let count = 0; count < 20; count += 1) program.stdout.write(told);
  await once(program.stdout, "pause");
  expect([heard > 1, heard < 20, program.failure()]).toEqual([true, true, undefined]);
});
