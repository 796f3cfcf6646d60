import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { SandboxEvent, Sandboxes } from "../../sandbox/sandbox.ts";
import { sandboxEventSchema } from "../../sandbox/wire/event-schema.ts";
import { reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";

/** How often an empty line is sent, so that each side notices when the other one is gone. Readers wait four times as long. */
const HEARTBEAT_MS = 15_000;

export function sandboxEventsRoute(sandboxes: Pick<Sandboxes, "events">, heartbeatMs = HEARTBEAT_MS): Route {
  return defineRoute({
    method: "GET",
    path: "/v1/sandboxes/events",
    access: reads("toolset:sandbox"),
    summary:
      "The events of the caller's sandboxes, one line of JSON each, until the client or the server closes. The first event is `resync`. List the sandboxes after each `resync`: it stands for the events before it, which a slow client may have missed. An empty line every 15 seconds says that the server is there",
    answers: { 200: sandboxEventSchema.meta({ contentTypes: ["application/x-ndjson"] }) },
    async handle(asked) {
      const events = sandboxes.events(asked.caller, asked.signal)[Symbol.asyncIterator]();
      // A refusal comes with the first event, before the status is sent.
      const first = await events.next();
      const { request, response } = asked.takeOver();
      response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
      if (request.method === "HEAD" || first.done) response.end();
      else await send(lines(first.value, events), response, heartbeatMs);
      await events.return?.();
    },
  });
}

/** Each chunk is a whole line, so an empty one fits between them. A client that does not read gets none. */
async function send(lines: AsyncIterable<string>, response: ServerResponse, heartbeatMs: number): Promise<void> {
  const beat = (): void => void (response.destroyed || response.writableNeedDrain || response.write("\n"));
  const heartbeat = setInterval(beat, heartbeatMs);
  await pipeline(Readable.from(lines), response).catch(() => undefined); // the client may go at any time
  clearInterval(heartbeat);
}

async function* lines(first: SandboxEvent, rest: AsyncIterator<SandboxEvent>): AsyncGenerator<string> {
  yield toLine(first);
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield toLine(next.value);
}

function toLine(event: SandboxEvent): string {
  return `${JSON.stringify(event)}\n`;
}
