import { once } from "node:events";
import { createServer, get, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { sandboxEventsRoute } from "../../../src/gateway/routes/sandbox-events.ts";
import { readRemoteEvents } from "../../../src/remote/remote-events.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openEvents } from "../../support/event-reader.ts";
import { openFakeSandboxes } from "../../support/fake-sandboxes.ts";

const signal = new AbortController().signal;

async function listen(answer: RequestListener): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

it("sends empty lines while nothing happens, which a client leaves out", async () => {
  await using place = await openFakeSandboxes();
  const route = sandboxEventsRoute(place.sandboxes, 5);
  await using server = await listen((request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const asked = {
      caller: LOCAL,
      params: {},
      query: {},
      body: {},
      requestId: "",
      signal: gone.signal,
      origin: "",
      request,
      setType: () => undefined,
      setStatus: () => undefined,
      setHeader: () => undefined,
      reached: () => undefined,
    };
    void route.handle({ ...asked, takeOver: () => ({ request, response }) });
  });
  await using events = await openEvents({ events: (_, stop) => readRemoteEvents(server, stop) }, LOCAL);
  const [raw] = await once(get(server.url), "response");
  let text = "";
  for await (const chunk of raw) {
    text += String(chunk);
    if (text.endsWith("\n\n\n")) break;
  }
  expect(text).toBe('{"type":"resync"}\n\n\n');
  const { id } = await place.sandboxes.create(LOCAL, {}, signal);
  expect(await events.next()).toEqual({ type: "created", sandbox: id });
});

it("ends with SERVER_UNREACHABLE once the server is silent for too long", async () => {
  await using server = await listen((_, response) => void response.write('{"type":"resync"}\n'));
  await using events = await openEvents({ events: (_, stop) => readRemoteEvents(server, stop, 50) }, LOCAL);
  await expect(events.next()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
});
