import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";

export type Json = Readonly<Record<string, unknown>>;

export interface ShownTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
}

export interface ShownPicture {
  readonly type: string;
  readonly data: Buffer;
}

/** One result of a tool, as the model is shown it. */
export interface Shown {
  readonly texts: readonly string[];
  readonly pictures: readonly ShownPicture[];
}

/** What a model reads in one request of a host. */
export interface Prompt {
  readonly tools: readonly ShownTool[];
  /** All that is said beside the results: the system's, the host's and the person's words. */
  readonly words: string;
  /** In the order of their calls. */
  readonly results: readonly Shown[];
}

/** What the model answers: a call of one of the tools, or words. */
export type Answer = { readonly call: string; readonly args: Json } | { readonly say: string };

/** The vendor's protocol in which a host asks its model. */
export interface Face {
  /** Paths of the requests that ask the model. */
  readonly path: RegExp;
  read(body: Json): Prompt;
  isStreamed(path: string, body: Json): boolean;
  /** The body of a streamed answer. The number makes ids differ. */
  stream(answer: Answer, turn: number): string;
  whole(answer: Answer, turn: number): Json;
}

export interface ScriptedModel extends AsyncDisposable {
  readonly url: string;
  /** Each request that carried tools, in order; the body is what was sent. */
  readonly prompts: readonly (Prompt & { readonly body: string })[];
}

/**
 * A model on loopback that answers as `answer` says. Requests without tools are the host's own (a title, say), and get words.
 * It is the host's proxy too, and lets nothing out.
 */
export async function openScriptedModel(face: Face, answer: (prompt: Prompt) => Answer): Promise<ScriptedModel> {
  const prompts: (Prompt & { readonly body: string })[] = [];
  const reply = (path: string, text: string): { readonly type: string; readonly text: string } => {
    const body = JSON.parse(text) as Json;
    const prompt = face.read(body);
    const isWork = prompt.tools.length > 0;
    if (isWork) prompts.push({ ...prompt, body: text });
    const next = isWork ? answer(prompt) : { say: "A small job" };
    return face.isStreamed(path, body)
      ? { type: "text/event-stream", text: face.stream(next, prompts.length) }
      : { type: "application/json", text: JSON.stringify(face.whole(next, prompts.length)) };
  };
  const server = createServer(
    (request, response) => void serve(request, response, (path, text) => (face.path.test(path) ? reply(path, text) : undefined)),
  );
  server.on("connect", (_: IncomingMessage, socket: Duplex) => void socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: urlOf(server), prompts, [Symbol.asyncDispose]: () => close(server) };
}

type Reply = (path: string, text: string) => { readonly type: string; readonly text: string } | undefined;

/** What the script cannot answer is the test's fault: the host is told, and prints it. */
async function serve(request: IncomingMessage, response: ServerResponse, reply: Reply): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    const given = reply(request.url ?? "", Buffer.concat(chunks).toString());
    if (given) response.writeHead(200, { "content-type": given.type }).end(given.text);
    else response.writeHead(404, { "content-type": "application/json" }).end("{}");
  } catch (error) {
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: String(error) } }));
  }
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("The model listens on no port");
  return `http://127.0.0.1:${address.port}`;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}
