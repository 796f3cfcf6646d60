import { connect, type Socket } from "node:net";
import { once } from "node:events";
import type { Sandbox } from "e2b";
import { encodeMessage } from "../../src/gateway/e2b/envd/connect/envelope.ts";

/** What a stream of Connect's was answered. */
export interface StreamAnswer {
  readonly status: number;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  /** What its last envelope says; undefined for a stream that was cut. */
  readonly end: { readonly error?: { readonly code: string; readonly message: string } } | undefined;
}

/** Calls of Connect's to the sandbox's own plane, as no SDK makes them. */
export interface RawCalls {
  readonly headers: Readonly<Record<string, string>>;
  call(
    method: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
  stream(method: string, body: unknown, init?: RequestInit): Promise<StreamAnswer>;
  /** Sends the head of a stream and these bytes, and no end. Destroying the socket is what a client's death does. */
  half(method: string, bytes: Uint8Array): Promise<Socket>;
}

/** The access token that the SDK got with its sandbox. */
export function accessTokenOf(sandbox: Sandbox): string {
  const { envdAccessToken } = sandbox as unknown as { readonly envdAccessToken?: string };
  if (envdAccessToken === undefined) throw new Error("The SDK got no access token");
  return envdAccessToken;
}

export function rawCalls(url: string, sandbox: Sandbox): RawCalls {
  const headers = { "x-access-token": accessTokenOf(sandbox), "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49983" };
  return {
    headers,
    async call(method, body, more = {}) {
      const sent = { "content-type": "application/json", ...headers, ...more };
      const response = await fetch(`${url}/${method}`, {
        method: "POST",
        headers: sent,
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    },
    async stream(method, body, { headers: more, ...init } = {}) {
      const sent = { "content-type": "application/connect+json", ...headers, ...(more as Record<string, string> | undefined) };
      const bytes = body instanceof Uint8Array ? body : encodeMessage(body);
      const response = await fetch(`${url}/${method}`, { method: "POST", headers: sent, body: bytes, ...init });
      return { status: response.status, ...(await readEnvelopes(response)) };
    },
    async half(method, bytes) {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      const head = { host: `${hostname}:${port}`, "content-type": "application/connect+json", "transfer-encoding": "chunked", ...headers };
      socket.write(
        `POST /${method} HTTP/1.1\r\n${Object.entries(head)
          .map((pair) => pair.join(": "))
          .join("\r\n")}\r\n\r\n`,
      );
      socket.write(`${bytes.length.toString(16)}\r\n`);
      socket.write(bytes);
      socket.write("\r\n");
      return socket;
    },
  };
}

async function readEnvelopes(response: Response): Promise<Pick<StreamAnswer, "messages" | "end">> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk as Uint8Array);
  } catch {
    // It was cut.
  }
  const bytes = Buffer.concat(chunks);
  const messages: Record<string, unknown>[] = [];
  if (!response.headers.get("content-type")?.startsWith("application/connect+json")) return { messages, end: undefined };
  for (let at = 0; at + 5 <= bytes.length;) {
    const size = bytes.readUInt32BE(at + 1);
    const value = JSON.parse(bytes.subarray(at + 5, at + 5 + size).toString()) as Record<string, unknown>;
    if (bytes[at] === 2) return { messages, end: value };
    messages.push(value);
    at += 5 + size;
  }
  return { messages, end: undefined };
}
