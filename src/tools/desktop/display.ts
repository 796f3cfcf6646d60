import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import * as z from "zod";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import { withProgram } from "../../interpreter/missing-program.ts";
import { INSIDE, type KeptProcess, type Sandbox } from "../../sandbox/sandbox.ts";

/** The display inside, as X names it. */
export const DISPLAY = ":99";
/** The ports through which persons see it. */
export const PORTS = { view: 6981, control: 6982 } as const;
export const SIZE = { width: { min: 640, default: 1024, max: 1920 }, height: { min: 480, default: 768, max: 1200 } } as const;

/** The kept command of a sandbox that is its desktop. */
const NAME = "desktop";
/** Debian's own: its packages are for no other. Isolated, for a package in the home may have the name of one of theirs. */
const PYTHON = "/usr/bin/python3";
const PROGRAM = [PYTHON, "-I", `${INSIDE.kernels}/desktop.py`] as const;
const KEY_BYTES = 24;
const ANSWER_MAX_BYTES = 4_096;
const REASON_MAX = 500;
const START_MS = 40_000;
const END_MS = 5_000;
const SIGTERM = 15;
const SIGKILL = 9;
/** Asks one that runs whether it is ready. */
const QUESTION = "\n";
const NEWLINE = 0x0a;

const Key = z.string().regex(/^[A-Za-z0-9_-]{32}$/);
const side = ({ min, max }: { readonly min: number; readonly max: number }) => z.number().int().min(min).max(max);
/** What is noted of the kept command. The sandbox's user may have written it. */
const Note = z.object({ width: side(SIZE.width), height: side(SIZE.height), view: Key, control: Key });
export type DesktopFacts = z.output<typeof Note>;

/** A person is told to install them, and the program that says which is the sandbox's. */
const PACKAGES = ["xvfb", "openbox", "x11vnc", "xdotool", "scrot", "websockify", "novnc"] as const;

const Answer = z.union([
  z.object({ ready: z.literal(true) }),
  z.object({ missing: z.array(z.enum(PACKAGES)).min(1).max(PACKAGES.length) }),
  z.object({ failed: z.string() }),
]);
type Answer = z.output<typeof Answer>;

export interface DesktopSize {
  readonly width: number;
  readonly height: number;
}

export interface EnsuredDesktop extends DesktopFacts {
  /** By this call. */
  readonly started: boolean;
}

type Place = Pick<Sandbox, "guest" | "info">;

/** The desktop that runs, whoever started it, or else a new one. Rejects with `DESKTOP_UNAVAILABLE` and `DESKTOP_FAILED`. */
export async function ensureDesktop(sandbox: Place, size: DesktopSize, signal: AbortSignal): Promise<EnsuredDesktop> {
  const facts = { ...size, view: makeKey(), control: makeKey() };
  // The second time is for one that ended meanwhile.
  for (const isLast of [false, true]) {
    const started = await keep(sandbox, facts);
    if (started) {
      await begin(sandbox, started, signal);
      return { ...facts, started: true };
    }
    const known = await takeUp(sandbox, signal);
    if (known) return { ...known, started: false };
    if (isLast) break;
  }
  throw new BelljarError("DESKTOP_FAILED", "The desktop ended as it was asked for; call desktop_start again");
}

/** Ends the one that runs, if any, with all that it has started. The programs on it lose their display. */
export async function endDesktop({ guest }: Place, signal: AbortSignal): Promise<void> {
  await using kept = await attach(guest, signal);
  if (!kept) return;
  kept.stdout.resume();
  kept.stderr.resume();
  await end(kept, signal);
}

/** Within seconds, also one that does not listen to signals. */
async function end(kept: KeptProcess, signal: AbortSignal): Promise<void> {
  for (const signalNumber of [SIGTERM, SIGKILL]) {
    kept.kill(signalNumber);
    if ((await settleWithin(kept.exited, { timeoutMs: END_MS, signal })) !== "late") return;
    signal.throwIfAborted();
  }
}

/** Rejects with `DESKTOP_UNAVAILABLE` where none was started in this run of the sandbox. */
export async function findDesktop({ guest }: Place, signal: AbortSignal): Promise<DesktopFacts> {
  const facts = await readNote(guest, signal);
  if (facts) return facts;
  throw new BelljarError("DESKTOP_UNAVAILABLE", "No desktop runs in this sandbox: call desktop_start first");
}

function makeKey(): string {
  return randomBytes(KEY_BYTES).toString("base64url");
}

/** Undefined where one is there already. */
async function keep(sandbox: Place, facts: DesktopFacts): Promise<KeptProcess | undefined> {
  const { width, height, view, control } = facts;
  const options = {
    argv: PROGRAM,
    stays: true,
    stdin: true,
    note: JSON.stringify(facts),
    signal: new AbortController().signal,
  };
  try {
    const kept = await withProgram(sandbox, { program: PYTHON, debianPackage: "python3" }, () => sandbox.guest.keep(NAME, options));
    const asked = { width, height, view: { port: PORTS.view, key: view }, control: { port: PORTS.control, key: control } };
    kept.stdin.on("error", () => undefined).write(`${JSON.stringify(asked)}\n`);
    return kept;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FILE_EXISTS") return undefined;
    throw cause;
  }
}

/** A caller that goes leaves the start alone: the next one takes it up. */
async function begin(sandbox: Place, kept: KeptProcess, signal: AbortSignal): Promise<void> {
  await using process = kept;
  process.stderr.resume();
  const answer = await readAnswer(process.stdout, signal);
  signal.throwIfAborted();
  if ("ready" in answer) return;
  process.stdout.resume();
  await end(process, signal);
  throw await tellFailure(sandbox, answer);
}

async function readAnswer(stdout: Readable, signal: AbortSignal): Promise<Answer> {
  const read = await settleWithin(readLine(stdout), { timeoutMs: START_MS, signal });
  if (read === "late") return { failed: `it was not ready within ${START_MS} ms` };
  const parsed = Answer.safeParse(parseJson(read));
  return parsed.success ? parsed.data : { failed: `its program answers ${JSON.stringify(read.slice(0, REASON_MAX))}` };
}

async function readLine(stdout: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (chunk.includes(NEWLINE) || bytes > ANSWER_MAX_BYTES) break;
  }
  return Buffer.concat(chunks).toString().split("\n", 1)[0] ?? "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function tellFailure(sandbox: Place, answer: Exclude<Answer, { ready: true }>): Promise<BelljarError> {
  if ("failed" in answer) {
    const reason = answer.failed.replaceAll(/\s+/g, " ").slice(0, REASON_MAX);
    return new BelljarError("DESKTOP_FAILED", `The desktop could not start: ${reason}`);
  }
  const { template } = await sandbox.info();
  const command = `apt-get install --no-install-recommends ${answer.missing.join(" ")}`;
  return new BelljarError(
    "DESKTOP_UNAVAILABLE",
    `A desktop needs programs that the template "${template}" has not. Install them on the machine or in the image that it is made of, as Debian's packages: ${command}. Or use a template that has them`,
  );
}

/** Waits for one that somebody else is just starting. Undefined: it has ended, and its name is free again. */
async function takeUp({ guest }: Place, signal: AbortSignal): Promise<DesktopFacts | undefined> {
  await using kept = await attach(guest, signal);
  if (!kept) return undefined;
  kept.stderr.resume();
  kept.stdin.on("error", () => undefined).write(QUESTION);
  const answer = await readAnswer(kept.stdout, signal);
  signal.throwIfAborted();
  if ("ready" in answer) return readNote(guest, signal);
  kept.stdout.resume();
  if ((await settleWithin(kept.exited, { timeoutMs: END_MS, signal })) === "late") throw silent();
  return undefined;
}

function silent(cause?: unknown): BelljarError {
  return new BelljarError("DESKTOP_FAILED", "The desktop does not answer; call desktop_start with restart", { cause });
}

async function attach(guest: Sandbox["guest"], signal: AbortSignal): Promise<KeptProcess | undefined> {
  const inLine = AbortSignal.timeout(START_MS);
  try {
    return await guest.attach(NAME, AbortSignal.any([signal, inLine]));
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PROCESS_NOT_FOUND") return undefined;
    if (inLine.aborted && !signal.aborted) throw silent(cause);
    throw cause;
  }
}

/** Undefined where none runs. */
async function readNote(guest: Sandbox["guest"], signal: AbortSignal): Promise<DesktopFacts | undefined> {
  const running = (await guest.listKept(signal)).some(({ name, pid }) => name === NAME && pid !== undefined);
  if (!running) return undefined;
  try {
    return Note.safeParse(parseJson((await guest.describeKept(NAME, signal)).note)).data;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PROCESS_NOT_FOUND") return undefined;
    throw cause;
  }
}
