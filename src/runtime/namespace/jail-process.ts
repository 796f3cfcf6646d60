import { spawn, type ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { FrameDecoder } from "../../protocol/frames.ts";
import { FRAME } from "../../protocol/wire.ts";

const ERROR_TEXT_AT = 4;
const STATUS = 3;
const LEASH = 4;
const EXIT_ALIVE = 3;

/** A keeper that this process started. It lives on by itself; an ephemeral one ends when `leash` is closed. */
export interface JailProcess {
  readonly leash: { destroy(): void } | undefined;
  /** Resolves when the keeper has gone, however it went; keeps this process alive until then. */
  gone(): Promise<void>;
}

/** Starts a keeper and resolves when its sandbox's guest is up. Rejects with `RUNTIME_FAILED` and the step that failed; nothing is left running. */
export async function startJail(binary: string, spec: Buffer, options: { readonly ephemeral: boolean; readonly signal: AbortSignal }): Promise<JailProcess> {
  const child = spawn(binary, ["jail"], {
    stdio: ["pipe", "ignore", "ignore", "pipe", ...(options.ephemeral ? (["pipe"] as const) : [])],
    detached: true,
    env: {},
    cwd: "/",
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()).once("error", () => resolve()));
  const abort = () => child.kill("SIGKILL");
  options.signal.addEventListener("abort", abort);
  try {
    (child.stdin as Writable).on("error", () => {}).end(spec);
    await ready(child, child.stdio[STATUS] as Readable);
  } catch (cause) {
    child.kill("SIGKILL");
    await gone;
    if (options.signal.aborted) throw new BelljarError("CANCELLED", "The sandbox was not made: its caller cancelled", { cause });
    throw cause;
  } finally {
    options.signal.removeEventListener("abort", abort);
  }
  child.unref();
  const leash = options.ephemeral ? unreferenced(child.stdio[LEASH]) : undefined;
  return {
    leash,
    gone: () => {
      child.ref();
      return gone;
    },
  };
}

function unreferenced(stream: unknown): { destroy(): void } {
  const socket = stream as { unref(): void; destroy(): void; on(event: "error", listener: () => void): unknown };
  socket.on("error", () => {});
  socket.unref();
  return socket;
}

/** The jail's first frame, or why there is none. */
function ready(child: ChildProcess, status: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      status.destroy();
      if (error) reject(error);
      else resolve();
    };
    const decoder = new FrameDecoder((type, _channel, payload) => settle(type === FRAME.STARTED ? undefined : jailError(payload)));
    child.once("error", (cause) => settle(unavailable(cause)));
    status.on("data", (chunk: Buffer) => decoder.push(chunk));
    status.on("error", (cause) => settle(failed("the jail's status could not be read", cause)));
    status.on("end", () => settle(failed("the jail ended without a word")));
  });
}

function jailError(payload: Buffer): BelljarError {
  return failed(payload.subarray(ERROR_TEXT_AT).toString());
}

function failed(text: string, cause?: unknown): BelljarError {
  return new BelljarError("RUNTIME_FAILED", `The sandbox could not be built: ${text}. \`belljar doctor\` shows what this host allows`, { cause });
}

function unavailable(cause: unknown): BelljarError {
  return new BelljarError("RUNTIME_UNAVAILABLE", "The native part of Belljar is missing or cannot run here; build it with `npm run build`", { cause });
}

/** Clears a sandbox's folder when its keeper is gone; false while the keeper lives. Rejects with `RUNTIME_FAILED`. */
export function clearFolder(binary: string, spec: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, ["clear"], { stdio: ["pipe", "ignore", "pipe"], env: {}, cwd: "/" });
    child.stdin.on("error", () => {}).end(spec);
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => void (text = (text + chunk.toString()).slice(0, 1_000)));
    child.once("error", (cause) => reject(unavailable(cause)));
    child.once("close", (code) => {
      if (code === 0) resolve(true);
      else if (code === EXIT_ALIVE) resolve(false);
      else reject(new BelljarError("RUNTIME_FAILED", `What a sandbox left could not be cleared: ${text.trim() || `exit code ${code}`}`));
    });
  });
}
