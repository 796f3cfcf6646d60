import { randomBytes } from "node:crypto";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ExecExit, KeptProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { UsedUp } from "../../sandbox/used-up.ts";
import { watchUsedUp } from "../../sandbox/used-up.ts";
import type { CodeFollower, KernelAnswer } from "./kernel-run.ts";
import { KernelRun } from "./kernel-run.ts";
import type { NamedContext, Patience } from "./context-process.ts";
import { attach, CONTEXT_PREFIX, isAwake, signalGroup, start, takeExit, unless } from "./context-process.ts";
import type { KernelRequest } from "./kernel.ts";
import { findKernel } from "./kernels.ts";
import { findLanguage } from "../language.ts";
import { withLanguage } from "../missing-program.ts";

/** An interpreter in a sandbox that keeps its variables between runs. It lives in its sandbox alone, as a kept command. */
export interface ContextInfo {
  readonly id: string;
  readonly language: string;
  /** Whether it is the one that runs without a named context use. */
  readonly isDefault: boolean;
  /** Undefined: it has ended, and starts again with its next run. */
  readonly pid: number | undefined;
}

export interface RunCode {
  readonly code: string;
  /** A name or alias of the table of languages. Default: the language of the context, else Python. */
  readonly language?: string | undefined;
  /** Default: the default context of the language, which is made on its first use. */
  readonly contextId?: string | undefined;
  /** Variables for this run alone. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Of the wait for the runs before, and then of the code. */
  readonly timeoutMs: number;
  /** Aborting interrupts the code. Variables stay, unless it must be killed. */
  readonly signal: AbortSignal;
  readonly maxOutputBytes: number;
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
  /** Is told what the run says, as it comes. It alone gets the values: the result has none, however many there are. */
  readonly follower?: CodeFollower | undefined;
  /** Further forms in which values are wanted. `e2b`: as E2B's clients know data frames, charts, lists and dictionaries. */
  readonly forms?: KernelRequest["forms"];
}

export interface CodeResult extends Omit<KernelAnswer, "state" | "hasBegun" | "interrupted"> {
  readonly contextId: string;
  readonly language: string;
  /** The run had no earlier variables: its context is new, or had ended. */
  readonly isFresh: boolean;
  readonly timedOut: boolean;
  /** The context ended with this run: its variables are gone. */
  readonly lost: LostContext | undefined;
  readonly durationMs: number;
}

export interface LostContext {
  /** Undefined: it did not stop when it was interrupted, and was killed. */
  readonly exit: ExecExit | undefined;
  readonly usedUp: UsedUp | undefined;
  /** The next run finds it started anew. False: somebody removed it while the code ran. */
  readonly startsAgain: boolean;
}

const Id = /^(python|javascript|typescript|bash)(-[0-9a-f]{8})?$/;
const [SIGINT, SIGKILL] = [2, 9];
/** Ends a context for good: a real-time signal, which no program sends by chance. A run that goes on there sees it, and does not start the context again. */
const REMOVAL = 50;
const KILL_MS = 5_000;
/** Of what a run prints whose output nobody sees. */
const KEPT_BYTES = 1_024;
/** More than one: a context may end, or another run may start it, between two looks. */
const TAKES_MAX = 8;

/**
 * Runs code in a context, after the runs that came before. Rejects with `CONTEXT_NOT_FOUND`, `LANGUAGE_UNAVAILABLE`, `PROCESS_LIMIT`,
 * `EXEC_TIMEOUT` for a context that others use for too long, the reason of the signal, or the sandbox's error.
 */
export async function runCode(sandbox: Sandbox, run: RunCode): Promise<CodeResult> {
  const named = await findContext(sandbox, run);
  const token = randomBytes(16).toString("hex");
  const request = named.kernel.ask({ token, code: run.code, env: run.env ?? {}, forms: run.forms });
  for (let turn = 0; turn < TAKES_MAX; turn++) {
    run.signal.throwIfAborted();
    const findUsedUp = await watchUsedUp(sandbox);
    const { process, isFresh } = await take(sandbox, named, { signal: run.signal, waitMs: run.timeoutMs });
    if (process.wasCut) {
      const calmed = calm(sandbox, named, process);
      // A caller that gives up does not wait for it. It ends by its own bounds, and the next run waits for its turn.
      calmed.catch(() => undefined);
      await settleWithin(calmed, { timeoutMs: run.timeoutMs, signal: run.signal });
      continue;
    }
    const startedAt = performance.now();
    const { state, hasBegun, interrupted, ...answer } = await new KernelRun(process, {
      ...run,
      followsCut: false,
      isAwake: () => isAwake(sandbox),
      interrupts: named.kernel.interrupts ?? 1,
      token,
      request,
    }).run();
    const durationMs = performance.now() - startedAt;
    // It had ended before this run: its exit is taken now, so that its name is free.
    if (state === "ended" && !hasBegun && !isFresh) continue;
    const isNew = isFresh || answer.executionCount === 1;
    if (state === "done") process.detach();
    if (state === "paused") {
      await process[Symbol.asyncDispose]();
      run.signal.throwIfAborted();
      throw paused(sandbox.id);
    }
    const lost = state === "done" ? undefined : await replace(sandbox, named, { process, findUsedUp });
    run.signal.throwIfAborted();
    return {
      ...answer,
      contextId: named.id,
      language: named.kernel.language,
      isFresh: isNew,
      timedOut: interrupted,
      lost,
      durationMs,
    };
  }
  throw endsAgain(named.id);
}

/** Makes one more context. Its first run finds it started. */
export async function createContext(
  sandbox: Sandbox,
  options: { readonly language: string; readonly cwd?: string | undefined },
): Promise<ContextInfo> {
  const kernel = findKernel(options.language);
  const id = `${kernel.language}-${randomBytes(4).toString("hex")}`;
  const process = await startIn(sandbox, { id, kernel }, { cwd: options.cwd });
  process.detach();
  return { id, language: kernel.language, isDefault: false, pid: process.pid };
}

export async function listContexts(sandbox: Sandbox, signal: AbortSignal): Promise<readonly ContextInfo[]> {
  const kept = await sandbox.guest.listKept(signal);
  return kept.flatMap(({ name, pid }) => {
    const id = name.startsWith(CONTEXT_PREFIX) ? name.slice(CONTEXT_PREFIX.length) : "";
    const [, language, suffix] = Id.exec(id) ?? [];
    return language === undefined ? [] : [{ id, language, isDefault: suffix === undefined, pid }];
  });
}

/** Stops the code that runs there, if any does. */
export async function interruptContext(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<void> {
  await signalContext(sandbox, { id, signalNumber: SIGINT, signal });
}

/** Ends it and starts it again, without its variables, in the folder that is named, or else where commands start. */
export async function restartContext(sandbox: Sandbox, id: string, signal: AbortSignal, cwd?: string): Promise<ContextInfo> {
  const known = await knownContext(sandbox, id, signal);
  // A folder that is not there ends no context.
  if (cwd !== undefined) await sandbox.guest.files.stat(cwd, { follow: true, signal });
  await removeContext(sandbox, id, signal);
  const process = await unless("FILE_EXISTS", startIn(sandbox, { id, kernel: findKernel(known.language) }, { cwd }));
  // A run that waited for it has started it.
  if (!process) return knownContext(sandbox, id, signal);
  process.detach();
  return { ...known, pid: process.pid };
}

/** Ends it, with the code that runs there, also where that listens to no signal. */
export async function removeContext(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<void> {
  await signalContext(sandbox, { id, signalNumber: REMOVAL, signal });
  const taken = await unless(
    "EXEC_TIMEOUT",
    takeExit(sandbox, id, signal).then(() => true),
  );
  if (taken) return;
  using _mark = markRemoved(sandbox, id);
  await signalContext(sandbox, { id, signalNumber: SIGKILL, signal });
  await takeExit(sandbox, id, signal);
  // By the time of this answer its run has heard of the end too, and has seen the mark.
  if ((await listContexts(sandbox, signal)).some((one) => one.id === id)) await takeExit(sandbox, id, signal);
}

/** Contexts of this process's calls that end by a signal that says nothing of a removal. */
const beingRemoved = new Set<string>();

function markRemoved({ id: sandboxId }: Sandbox, id: string): Disposable {
  const mark = `${sandboxId} ${id}`;
  beingRemoved.add(mark);
  return { [Symbol.dispose]: () => void beingRemoved.delete(mark) };
}

async function signalContext(
  sandbox: Sandbox,
  { id, ...how }: { readonly id: string; readonly signalNumber: number; readonly signal: AbortSignal },
): Promise<void> {
  const { pid } = await knownContext(sandbox, id, how.signal);
  if (pid !== undefined) await signalGroup(sandbox, { pid, ...how });
}

/** Rejects with `LANGUAGE_UNAVAILABLE`, or with `FILE_EXISTS` if the context is there. */
function startIn(sandbox: Sandbox, named: NamedContext, options: { readonly cwd?: string | undefined }): Promise<KeptProcess> {
  const signal = AbortSignal.timeout(KILL_MS);
  return withLanguage(sandbox, findLanguage(named.kernel.language), signal, () => start(sandbox, named, options));
}

async function knownContext(sandbox: Sandbox, id: string, signal: AbortSignal): Promise<ContextInfo> {
  const found = (await listContexts(sandbox, signal)).find((one) => one.id === id);
  if (found) return found;
  throw notFound(id);
}

function notFound(id: string): BelljarError {
  const reason = "contexts end with their sandbox's processes";
  return new BelljarError(
    "CONTEXT_NOT_FOUND",
    `No context "${id.slice(0, 40)}" in this sandbox: ${reason}. Leave context_id out, or make a new one`,
  );
}

async function findContext(sandbox: Sandbox, { contextId, language, signal }: RunCode): Promise<NamedContext> {
  if (contextId === undefined) {
    const kernel = findKernel(language ?? "python");
    return { id: kernel.language, kernel };
  }
  const [, own, suffix] = Id.exec(contextId) ?? [];
  if (own === undefined) throw notFound(contextId);
  const kernel = findKernel(own);
  if (language !== undefined && findKernel(language) !== kernel)
    throw new BelljarError("ARGUMENTS_INVALID", `The context "${contextId}" runs ${own}; leave the language out, or name another context`);
  if (suffix !== undefined) await knownContext(sandbox, contextId, signal);
  return { id: contextId, kernel };
}

/** Attaches to the context, or starts it. Waits while other runs have it. */
async function take(
  sandbox: Sandbox,
  named: NamedContext,
  patience: Patience,
): Promise<{ readonly process: KeptProcess; readonly isFresh: boolean }> {
  for (let turn = 0; turn < TAKES_MAX; turn++) {
    const process = await unless("PROCESS_NOT_FOUND", attach(sandbox, named.id, patience));
    if (process) return { process, isFresh: false };
    // Another run may be quicker.
    const started = await unless("FILE_EXISTS", startIn(sandbox, named, {}));
    if (started) return { process: started, isFresh: true };
  }
  throw endsAgain(named.id);
}

/**
 * Waits, by a run of nothing, until the run of a lost stream has stopped. An interrupt of that one may come late, and then hits no code
 * of a caller.
 */
async function calm(sandbox: Sandbox, named: NamedContext, process: KeptProcess): Promise<void> {
  const token = randomBytes(16).toString("hex");
  const { state } = await new KernelRun(process, {
    token,
    request: named.kernel.ask({ token, code: "", env: {} }),
    followsCut: true,
    isAwake: () => isAwake(sandbox),
    interrupts: named.kernel.interrupts ?? 1,
    timeoutMs: KILL_MS,
    signal: new AbortController().signal,
    maxOutputBytes: KEPT_BYTES,
  }).run();
  if (state === "done") process.detach();
  else if (state === "paused") await process[Symbol.asyncDispose]();
  else await replace(sandbox, named, { process, findUsedUp: () => Promise.resolve(undefined) });
}

interface Failed {
  readonly process: KeptProcess;
  readonly findUsedUp: (end: ExecExit) => Promise<UsedUp | undefined>;
}

/** Ends what is left of a context, and starts it again, so that the next run finds it. */
async function replace(sandbox: Sandbox, named: NamedContext, { process, findUsedUp }: Failed): Promise<LostContext> {
  process.kill(SIGKILL);
  const exit = await settleWithin(process.exited, { timeoutMs: KILL_MS });
  const isRemoved = beingRemoved.has(`${sandbox.id} ${named.id}`);
  await process[Symbol.asyncDispose]();
  const known = exit === "late" ? undefined : exit;
  const usedUp = known && (await findUsedUp(known));
  const startsAgain = !isRemoved && known?.signal !== `SIG${REMOVAL}`;
  if (!startsAgain) return { exit: known, usedUp, startsAgain };
  // Without memory or disk it cannot start now, and a paused sandbox is not woken for it. The next run tries again, and says so.
  if (sandbox.isPaused?.()) return { exit: known, usedUp, startsAgain };
  const again = await start(sandbox, named, {}).catch((error: unknown) => {
    if (!(error instanceof BelljarError)) throw error;
  });
  again?.detach();
  return { exit: known, usedUp, startsAgain };
}

function paused(id: string): BelljarError {
  return new BelljarError("SANDBOX_PAUSED", `Sandbox ${id} is paused: the code is interrupted when it is resumed. Run it again then`);
}

function endsAgain(id: string): BelljarError {
  return new BelljarError("PROCESS_LIMIT", `The context "${id}" ends again and again; try again, or remove it`);
}
