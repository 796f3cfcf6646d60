import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { BelljarError } from "../../errors.ts";
import { Fields } from "../../protocol/fields.ts";
import { FrameDecoder } from "../../protocol/frames.ts";
import { FRAME, GUEST_ERROR } from "../../protocol/wire.ts";
import type { Run } from "../contract/run.ts";
import { runName } from "./run-paths.ts";

const CHANNEL = 3;
/** An honest start takes far below a second, and some on a host that stands still. */
const START_MS = 60_000;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: BelljarError): void;
}

/**
 * Starts keepers through a small process of its own, since forking this large one would cost more than all else of a create.
 * That process starts with the first create, ends with this one, and never keeps it alive by itself. Ephemeral sandboxes end with it.
 */
export class Spawner {
  readonly #binary: string;
  /** By the name of the run: the keeper of an earlier run of the same sandbox may end meanwhile. */
  readonly #waiting = new Map<string, Waiting>();
  #process: { readonly child: ChildProcess; readonly channel: Socket } | undefined;

  constructor(binary: string) {
    this.#binary = binary;
  }

  /**
   * Resolves when the sandbox's guest is up. Rejects with `RUNTIME_FAILED` and the step that failed, `RUNTIME_UNAVAILABLE`,
   * `SANDBOX_FILES_LOST`, or `SANDBOX_UNRESPONSIVE` for one that may still come.
   */
  start(run: Run, spec: Buffer): Promise<void> {
    const name = runName(run);
    const { channel } = (this.#process ??= this.#spawn());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#take(name)?.reject(late()), START_MS);
      this.#waiting.set(name, { timer, resolve, reject });
      channel.ref();
      channel.write(spec);
    });
  }

  #spawn(): { readonly child: ChildProcess; readonly channel: Socket } {
    const child = spawn(this.#binary, ["spawner"], { stdio: ["ignore", "ignore", "ignore", "pipe"], detached: true, env: {}, cwd: "/" });
    const channel = child.stdio[CHANNEL] as Socket;
    const decoder = new FrameDecoder((type, _channel, payload) => this.#answer(channel, type, payload));
    child.once("error", (cause) => this.#lose(channel, unavailable(cause)));
    channel.on("data", (chunk: Buffer) => this.#hear(channel, decoder, chunk));
    channel.on("error", (cause) => this.#lose(channel, failed("the process that starts sandboxes is gone", cause)));
    channel.on("close", () => this.#lose(channel, failed("the process that starts sandboxes is gone")));
    child.unref();
    channel.unref();
    return { child, channel };
  }

  #hear(channel: Socket, decoder: FrameDecoder, chunk: Buffer): void {
    try {
      decoder.push(chunk);
    } catch (cause) {
      this.#lose(channel, failed("the process that starts sandboxes cannot be understood", cause));
    }
  }

  #answer(channel: Socket, type: number, payload: Buffer): void {
    const fields = Fields.parse(payload);
    const id = fields.text("ID");
    const error = type === FRAME.STARTED ? undefined : refusal(fields);
    if (id === undefined) return this.#lose(channel, error ?? failed("an answer names no sandbox"));
    const waiting = this.#take(runName({ id, generation: fields.number("RUN") ?? 0 }));
    if (error) waiting?.reject(error);
    else waiting?.resolve();
  }

  #take(name: string): Waiting | undefined {
    const waiting = this.#waiting.get(name);
    clearTimeout(waiting?.timer);
    this.#waiting.delete(name);
    if (this.#waiting.size === 0) this.#process?.channel.unref();
    return waiting;
  }

  /** The next create starts a new one, which the late events of this one are not about. */
  #lose(channel: Socket, error: BelljarError): void {
    channel.destroy();
    if (this.#process?.channel !== channel) return;
    this.#process = undefined;
    for (const name of this.#waiting.keys()) this.#take(name)?.reject(error);
  }
}

function refusal(fields: Fields): BelljarError {
  const reason = fields.text("REASON") ?? "no reason was given";
  return fields.number("KIND") === GUEST_ERROR.NOT_FOUND ? lost(reason) : failed(reason);
}

function lost(text: string): BelljarError {
  return new BelljarError("SANDBOX_FILES_LOST", `What the sandbox wrote is gone: ${text}. Delete it and make a new one`);
}

function failed(text: string, cause?: unknown): BelljarError {
  return new BelljarError("RUNTIME_FAILED", `The sandbox could not be built: ${text}. \`belljar doctor\` shows what this host allows`, {
    cause,
  });
}

function late(): BelljarError {
  return new BelljarError("SANDBOX_UNRESPONSIVE", `The sandbox did not start within ${START_MS / 1_000} s and was removed. Try again`);
}

export function unavailable(cause: unknown): BelljarError {
  return new BelljarError(
    "RUNTIME_UNAVAILABLE",
    "The native part of Belljar is missing or cannot run here; build it with `npm run build`",
    { cause },
  );
}
