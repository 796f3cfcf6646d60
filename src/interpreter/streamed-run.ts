import type { Readable } from "node:stream";
import type { ExecExit, Guest, RunOptions } from "../sandbox/sandbox.ts";

export interface StreamedRunOptions extends Omit<RunOptions, "input" | "maxOutputBytes" | "onOutput"> {
  /** Read as fast as the program takes it; what the program leaves is left. */
  readonly input: Readable;
  /** A promise holds that stream up until it settles. */
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

/** Runs a command to its end beside a live stdin, with back-pressure both ways. */
export async function runStreamed(guest: Guest, { input, onOutput, ...options }: StreamedRunOptions): Promise<ExecExit> {
  await using command = await guest.exec(options);
  const carry = async (stream: "stdout" | "stderr") => {
    for await (const chunk of command[stream]) await onOutput(stream, chunk as Buffer);
  };
  // A program that ends without reading its stdin closes it: no failure.
  command.stdin.on("error", () => input.unpipe(command.stdin));
  input.pipe(command.stdin);
  try {
    const [exit] = await Promise.all([command.exited, carry("stdout"), carry("stderr")]);
    return exit;
  } finally {
    input.unpipe(command.stdin);
  }
}
