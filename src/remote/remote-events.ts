import type { IncomingMessage } from "node:http";
import { BelljarError } from "../errors.ts";
import type { SandboxEvent } from "../sandbox/sandbox.ts";
import { sandboxEventSchema } from "../sandbox/wire/event-schema.ts";
import { parseAnswer } from "./server-answers.ts";
import { exchange } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

const LINE_MAX_CHARACTERS = 4_096;
/** A server sends an empty line every 15 seconds. */
const SILENCE_MS = 60_000;

/**
 * Reads a server's events. If the reader is slow, the connection fills up, and the server sends a `resync` in place of the missed events.
 * Rejects with `SERVER_UNREACHABLE` if the server ends the events, or sends nothing for a minute while the reader waits.
 */
export async function* readRemoteEvents(
  address: ServerAddress,
  signal: AbortSignal,
  silenceMs = SILENCE_MS,
): AsyncGenerator<SandboxEvent, void, undefined> {
  if (signal.aborted) return;
  try {
    const response = await exchange(address, { method: "GET", path: "/v1/sandboxes/events", signal }, async (answer) => answer);
    yield* readEvents(unlessSilent(response, silenceMs), response, signal);
  } catch (cause) {
    if (signal.aborted) return;
    if (cause instanceof BelljarError) throw cause;
    throw new BelljarError("SERVER_UNREACHABLE", `The server at ${address.url} ended the events: ask for them again`, { cause });
  }
}

/** Destroys the response after too long a wait for a chunk. While the reader asks for none, nothing is waited for. */
async function* unlessSilent(response: IncomingMessage, silenceMs: number): AsyncGenerator<string, void, undefined> {
  response.setEncoding("utf8");
  const wait = (): NodeJS.Timeout => setTimeout(() => response.destroy(new Error("The server is silent")), silenceMs).unref();
  let waiting = wait();
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      clearTimeout(waiting);
      yield chunk;
      waiting = wait();
    }
  } finally {
    clearTimeout(waiting);
  }
}

async function* readEvents(
  chunks: AsyncIterable<string>,
  response: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<SandboxEvent, void, undefined> {
  const abort = (): void => void response.destroy();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  response.socket.unref();
  let rest = "";
  try {
    for await (const chunk of chunks) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > LINE_MAX_CHARACTERS) throw new BelljarError("SERVER_INCOMPATIBLE", "The server sent an event that has no end");
      for (const line of lines) if (line !== "") yield parseAnswer(sandboxEventSchema, line);
    }
  } finally {
    signal.removeEventListener("abort", abort);
    abort();
  }
}
