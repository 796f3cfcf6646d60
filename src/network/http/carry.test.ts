import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { carryBoth } from "./carry.ts";

/** Two ends of one TCP connection, each of which may end alone. */
async function openPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  for (const socket of [near, far]) socket.on("error", () => undefined);
  return [near, far];
}

/** Reads a stream to its end. Unlike iteration, it leaves the other direction open. */
async function readAll(socket: Socket): Promise<string> {
  let all = "";
  socket.on("data", (chunk: Buffer) => (all += chunk.toString()));
  await once(socket, "end");
  return all;
}

/** Resolves even if the stream breaks. */
function closed(stream: Socket): Promise<unknown> {
  return new Promise((resolve) => stream.once("close", resolve));
}

async function openRelay() {
  const [[client, ours], [theirs, server]] = await Promise.all([openPair(), openPair()]);
  return { client, server, ours, theirs, over: carryBoth(ours, theirs) };
}

it("carries both directions, and passes an end on", async () => {
  const { client, server, over } = await openRelay();
  client.end("question");
  expect(await readAll(server)).toBe("question");
  server.end("answer");
  expect(await readAll(client)).toBe("answer");
  await over;
});

it.each(["client", "server"] as const)("ends both when the %s breaks", async (name) => {
  const relay = await openRelay();
  const gone = Promise.all([relay.ours, relay.theirs].map(closed));
  relay[name].resetAndDestroy();
  await Promise.all([gone, relay.over]);
  relay.client.destroy();
  relay.server.destroy();
});

it("ends both when one of the streams in between is destroyed", async () => {
  const { client, server, theirs, over } = await openRelay();
  const gone = Promise.all([client, server].map((socket) => closed(socket.resume())));
  for (const socket of [client, server]) socket.once("end", () => socket.destroy());
  theirs.destroy();
  await Promise.all([over, gone]);
});
