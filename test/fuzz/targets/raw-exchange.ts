import { connect } from "node:net";
import type { Duplex } from "node:stream";

const ANSWER_MAX_BYTES = 1_048_576;

/** Writes all, ends, and reads to the end of the connection. A broken connection ends it too. */
export function rawExchange(stream: Duplex, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= ANSWER_MAX_BYTES) chunks.push(chunk);
    });
    stream.on("error", () => {}).once("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    stream.end(bytes);
  });
}

export function rawRequest(port: number, bytes: Uint8Array): Promise<string> {
  return rawExchange(connect({ port, host: "127.0.0.1", allowHalfOpen: true }), bytes);
}
