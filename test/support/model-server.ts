import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type ModelDialect = "openai" | "anthropic";

/** What the model says next. */
export interface ScriptedReply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
  /** In place of a reply. */
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends this many pieces, and then nothing more. */
  readonly hangsAfter?: number;
  /** Ends the connection in the middle. */
  readonly breaks?: boolean;
}

interface ModelRequestSeen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A model on loopback that says what a script says; the last reply comes again and again. */
export interface ModelServer extends AsyncDisposable {
  readonly origin: string;
  /** For the environment of the CLI. */
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly ModelRequestSeen[];
  /** Resolves when the next request has its first piece. */
  spoke(): Promise<void>;
}

export async function openModelServer(dialect: ModelDialect, script: readonly ScriptedReply[], pieceBytes = 7): Promise<ModelServer> {
  const requests: ModelRequestSeen[] = [];
  const spoken: (() => void)[] = [];
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const reply = script[Math.min(requests.length, script.length - 1)] ?? {};
      requests.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(body) as Record<string, unknown> });
      await answer(response, reply, { dialect, pieceBytes, spoke: () => spoken.splice(0).forEach((tell) => tell()) });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const prefix = dialect === "openai" ? "OPENAI" : "ANTHROPIC";
  return {
    origin,
    requests,
    env: {
      [`${prefix}_BASE_URL`]: dialect === "openai" ? `${origin}/v1` : origin,
      [`${prefix}_API_KEY`]: "k3y",
      [`${prefix}_MODEL`]: "small",
    },
    spoke: () => new Promise((resolve) => spoken.push(resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface AnswerOptions {
  readonly dialect: ModelDialect;
  readonly pieceBytes: number;
  readonly spoke: () => void;
}

async function answer(response: ServerResponse, reply: ScriptedReply, { dialect, pieceBytes, spoke }: AnswerOptions): Promise<void> {
  if (reply.status !== undefined || reply.body !== undefined) {
    const body = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body ?? {});
    response.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers }).end(body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const bytes = Buffer.from((dialect === "openai" ? openAiEvents(reply) : anthropicEvents(reply)).join(""));
  let pieces = 0;
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (pieces === (reply.hangsAfter ?? Infinity)) return spoke();
    if (reply.breaks === true && at > bytes.length / 2) return void response.destroy();
    if (!response.write(bytes.subarray(at, at + pieceBytes))) await once(response, "drain");
    // Each piece is a packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
    pieces += 1;
  }
  response.end();
  spoke();
}

function openAiEvents({ text: said = "", calls = [] }: ScriptedReply): readonly string[] {
  const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
  const delta = (value: object): string => event({ choices: [{ index: 0, delta: value, finish_reason: null }] });
  const halves = calls.flatMap(({ name, args }, index) => {
    const json = typeof args === "string" ? args : JSON.stringify(args);
    const half = Math.ceil(json.length / 2);
    return [
      delta({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name, arguments: json.slice(0, half) } }] }),
      delta({ tool_calls: [{ index, function: { arguments: json.slice(half) } }] }),
    ];
  });
  return [
    ": a comment\n\n",
    delta({ role: "assistant", content: "" }),
    ...Array.from(said, (content) => delta({ content })),
    ...halves,
    event({ choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? "tool_calls" : "stop" }] }),
    event({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } }),
    "data: [DONE]\n\n",
  ];
}

function anthropicEvents({ text: said = "", calls = [] }: ScriptedReply): readonly string[] {
  const event = (value: { readonly type: string; readonly [field: string]: unknown }): string =>
    `event: ${value.type}\r\ndata: ${JSON.stringify(value)}\r\n\r\n`;
  const uses = calls.flatMap(({ name, args }, place) => {
    const json = typeof args === "string" ? args : JSON.stringify(args);
    const index = place + 1;
    const half = Math.ceil(json.length / 2);
    const piece = (part: string): string =>
      event({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: part } });
    return [
      event({ type: "content_block_start", index, content_block: { type: "tool_use", id: `toolu_${index}`, name, input: {} } }),
      piece(json.slice(0, half)),
      piece(json.slice(half)),
      event({ type: "content_block_stop", index }),
    ];
  });
  return [
    event({ type: "message_start", message: { usage: { input_tokens: 90, cache_read_input_tokens: 10, output_tokens: 1 } } }),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    event({ type: "ping" }),
    ...Array.from(said, (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    event({ type: "content_block_stop", index: 0 }),
    ...uses,
    event({ type: "message_delta", delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" }, usage: { output_tokens: 10 } }),
    event({ type: "message_stop" }),
  ];
}
