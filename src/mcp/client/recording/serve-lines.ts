import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { serializeMessage } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import type { StdioTarget } from "../config/resolve-server.ts";
import type { JsonObject } from "../json-object.ts";
import type { WireDirection } from "../server-handlers.ts";
import { MessageLines } from "../transport/message-lines.ts";
import { ProcessTransport } from "../transport/process-transport.ts";
import type { Recording } from "./read-recording.ts";
import { createReplay } from "./replay.ts";

/** A host's ends of a server's streams. */
export interface HostStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly signal: AbortSignal;
}

/** A host that reads nothing any more must not fill the memory. */
const UNREAD_MAX_BYTES = 64 * 1_048_576;

/** Plays a recording as a server on these streams, until the host ends its own. */
export async function serveReplay(recording: Recording, { stdin, stdout, signal }: HostStreams): Promise<void> {
  const full = new AbortController();
  const replay = createReplay(recording, (message) => write(stdout, message as JSONRPCMessage, full));
  for await (const message of readMessages(stdin, AbortSignal.any([signal, full.signal]))) {
    // A message can wait for an answer that comes after it.
    void replay.take(message).catch((cause: unknown) => full.abort(cause));
  }
  full.signal.throwIfAborted();
}

/**
 * Runs a server for a host, and gives each message to `onMessage`. Resolves when the host has ended its stream and the server has ended.
 * Rejects if the server ends before, with its last lines.
 */
export async function recordServer(
  target: StdioTarget,
  { stdin, stdout, signal }: HostStreams,
  onMessage: (direction: WireDirection, message: JsonObject) => void,
): Promise<void> {
  const transport = new ProcessTransport(target);
  const host = new AbortController();
  const full = new AbortController();
  transport.onmessage = (message) => {
    onMessage("received", { ...message });
    write(stdout, message, full);
  };
  transport.onclose = () => host.abort();
  try {
    await transport.start();
    for await (const message of readMessages(stdin, AbortSignal.any([signal, host.signal, full.signal]))) {
      onMessage("sent", { ...message });
      await transport.send(message);
      // A host that is faster than the server waits for it.
      await transport.drained();
    }
    full.signal.throwIfAborted();
    if (host.signal.aborted) throw transport.explain(new BelljarError("SERVER_UNREACHABLE", `The server "${target.name}" has ended`));
  } finally {
    await transport.close();
  }
}

function write(stdout: Writable, message: JSONRPCMessage, full: AbortController): void {
  if (stdout.writableLength <= UNREAD_MAX_BYTES) stdout.write(serializeMessage(message));
  else full.abort(new BelljarError("RESULT_TOO_LARGE", `The host has ${UNREAD_MAX_BYTES} bytes to read, and does not read them`));
}

/** Ends with the stream, or when the signal aborts. What is no message is passed over. */
async function* readMessages(stdin: Readable, signal: AbortSignal): AsyncGenerator<JSONRPCMessage, void, undefined> {
  const input = new MessageLines();
  const stop = (): void => void stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) return;
    for await (const chunk of stdin as AsyncIterable<Buffer>) yield* input.read(chunk);
  } catch (cause) {
    if (!signal.aborted) throw cause;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
