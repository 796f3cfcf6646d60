import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

import { toWish } from "../../src/interpreter/warm/warm-program.ts";

export type Answer = Readonly<Record<string, unknown>> & { readonly type: string };

export interface HarnessRun {
  /** The lines with the right token, in order. */
  readonly answers: readonly Answer[];
  /** The last of them. */
  readonly last: Answer | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number | null;
}

export interface HarnessOptions {
  /** The unit's name. */
  readonly name?: string;
  /** With the unit's packages. */
  readonly cwd?: string;
  /** The interpreter and its arguments, in place of the usual one. */
  readonly argv?: readonly string[];
  /** The Python has started before, and waits for a program. */
  readonly waits?: boolean;
}

const KERNELS = resolve(import.meta.dirname, "../../dist/kernels");
/** A test that runs out of time leaves nothing behind. */
const LONGEST_MS = 100_000;

export const PYTHON_HARNESS = resolve(KERNELS, "python-tools.py");
const JAVASCRIPT_HARNESS = resolve(KERNELS, "javascript-tools.mjs");

/** The tools of a code, as the real harness of its language reads them. */
export function readCode(language: string, code: string, options: HarnessOptions = {}): Promise<HarnessRun> {
  return askHarness({ do: "read", language, code }, options);
}

/** One call of a function of a code, by the real harness of its language. */
// eslint-disable-next-line max-params -- the options are the last of all of these
export function callCode(language: string, code: string, fn: string, args: object = {}, options: HarnessOptions = {}): Promise<HarnessRun> {
  return askHarness({ do: "call", language, code, function: fn, arguments: args }, options);
}

/** Sends one request, as the host does, and waits for the end of the process. */
export async function askHarness(
  request: Readonly<Record<string, unknown>> & { readonly language: string },
  { name = "weather", cwd = "/", argv, waits = false }: HarnessOptions = {},
): Promise<HarnessRun> {
  const token = randomBytes(16).toString("hex");
  const [interpreter, harness] = request.language === "python" ? ["python3", PYTHON_HARNESS] : ["node", JAVASCRIPT_HARNESS];
  const [command = interpreter, ...args] = argv ?? [];
  const child = spawn(command, [...args, waits ? "main.py" : harness], {
    cwd,
    ...(waits && { env: { ...process.env, PYTHONPATH: KERNELS, BELLJAR_IMPORTS: "json random" } }),
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    timeout: LONGEST_MS,
    killSignal: "SIGKILL",
  });
  const ended = once(child, "exit") as Promise<[number | null]>;
  if (waits) await goOn(child.stdio[3] as Duplex);
  child.stdin.end(JSON.stringify({ version: 1, name, token, ...request }));
  const outputs = [child.stdout, child.stderr, child.stdio[3]].map((stream) => buffer(stream as Readable));
  const [stdout, stderr, lines] = (await Promise.all(outputs)).map((bytes) => bytes.toString("utf8"));
  const [exit] = await ended;
  const answers = (lines ?? "").split("\n").flatMap((line) => toAnswer(line, token));
  return { answers, last: answers.at(-1), stdout: stdout ?? "", stderr: stderr ?? "", exit };
}

/** A Python that waits says when it is ready, and is told then that it is to run a tool. */
async function goOn(channel: Duplex): Promise<void> {
  await once(channel, "readable");
  if (String(channel.read()) !== "ready\n") throw new Error("It says something else than that it is ready");
  channel.write(toWish({ env: { BELLJAR_TEST: "set" }, tool: [] }));
}

/** Nothing for a line that the harness did not write. */
function toAnswer(line: string, expected: string): Answer[] {
  if (!line.startsWith("{")) return [];
  try {
    const { token, ...answer } = JSON.parse(line) as Answer & { readonly token?: string };
    return token === expected ? [answer] : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
