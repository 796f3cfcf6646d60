import { randomBytes } from "node:crypto";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { Guest, KeptProcess } from "../../sandbox/sandbox.ts";
import { attach, CONTEXT_PREFIX, start, takeExit, unless } from "../lasting/context-process.ts";
import { kernelLines } from "../lasting/kernel-lines.ts";
import { findKernel } from "../lasting/kernels.ts";
import type { Kernel, Preparation } from "../lasting/kernel.ts";

/** A start with its imports, on a busy host. */
const READY_MS = 20_000;
/** A kernel that has answered before. */
const ANSWER_MS = 2_000;

interface WithGuest {
  readonly guest: Guest;
}

type Variables = Readonly<Record<string, string>>;

/** Starts the default contexts of the languages, which import the modules that they have, and wait for their first run. */
export function warmContexts({ languages, imports }: { readonly languages: readonly string[]; readonly imports: readonly string[] }) {
  return async (sandbox: WithGuest, signal: AbortSignal): Promise<void> => {
    for (const language of languages) await warmContext(sandbox, findKernel(language), { imports, signal });
  };
}

/**
 * Gives the contexts that were started before their sandbox had an owner the owner's variables. One that has read such a variable when it
 * started, or that does not answer, ends: its next run starts it anew.
 */
export async function handOverContexts({ guest }: WithGuest, env: Variables): Promise<void> {
  if (Object.keys(env).length === 0) return;
  const signal = AbortSignal.timeout(READY_MS);
  const kept = (await guest.listKept(signal)).flatMap(({ name }) =>
    name.startsWith(CONTEXT_PREFIX) ? [name.slice(CONTEXT_PREFIX.length)] : [],
  );
  await Promise.all(kept.map((language) => handOver({ guest }, findKernel(language), { env, signal })));
}

async function handOver(sandbox: WithGuest, kernel: Kernel, { env, signal }: { env: Variables; signal: AbortSignal }): Promise<void> {
  const process = takesLater(kernel, env) ? await attach(sandbox, kernel.language, { signal, waitMs: ANSWER_MS }) : undefined;
  if (process && (await prepare(process, kernel, { imports: [], env, timeoutMs: ANSWER_MS }))) return process.detach();
  await process?.[Symbol.asyncDispose]();
  await takeExit(sandbox, kernel.language, signal);
}

function takesLater({ readAtStart }: Kernel, env: Variables): boolean {
  return readAtStart !== undefined && !Object.keys(env).some((name) => readAtStart.test(name));
}

/** A template without the language has no such context. */
async function warmContext(
  sandbox: WithGuest,
  kernel: Kernel,
  { imports, signal }: { readonly imports: readonly string[]; readonly signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted();
  const process = await unless("COMMAND_NOT_FOUND", start(sandbox, { id: kernel.language, kernel }, {}));
  if (!process) return;
  if (!(await prepare(process, kernel, { imports, env: {}, timeoutMs: READY_MS })))
    throw new BelljarError("EXEC_TIMEOUT", `A ${kernel.language} context did not start within ${READY_MS} ms`);
  process.detach();
}

/** False when it does not say in time that it has done so. */
async function prepare(
  process: KeptProcess,
  kernel: Kernel,
  { timeoutMs, ...wishes }: Omit<Preparation, "token"> & { readonly timeoutMs: number },
): Promise<boolean> {
  const token = randomBytes(16).toString("hex");
  const [channel] = process.channels;
  if (!channel || !kernel.prepare) return false;
  for (const stream of [process.stdout, process.stderr]) stream.resume();
  const prepared = new Promise<boolean>((resolve) => {
    const lines = kernelLines({
      take: (message) => message.type === "prepared" && message.run === token && resolve(true),
      skip: () => undefined,
    });
    channel.on("data", (chunk: Buffer) => lines.push(chunk));
    process.exited.then(
      () => resolve(false),
      () => resolve(false),
    );
  });
  channel.write(kernel.prepare({ token, ...wishes }));
  return (await settleWithin(prepared, { timeoutMs })) === true;
}
