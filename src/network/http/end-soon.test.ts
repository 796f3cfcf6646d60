import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { connectionPair } from "../../../test/support/connection-pair.ts";
import { endSoon } from "./end-soon.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

it("writes the last bytes, and closes once the client has closed its side", async () => {
  const [client, server] = await connectionPair();
  const closed = once(server, "close");
  endSoon(server, "bye");
  client.write("unread");
  expect(await textOf(client)).toBe("bye");
  await closed;
  expect(vi.getTimerCount()).toBe(0);
});

it("ends without a byte when there is none to write", async () => {
  const [client, server] = await connectionPair();
  endSoon(server);
  expect(await textOf(client)).toBe("");
});

it("closes after two seconds though the client keeps its side open", async () => {
  const [client, server] = await connectionPair();
  const ended = once(client, "end");
  client.allowHalfOpen = true;
  endSoon(server, "bye");
  client.resume();
  await ended;
  vi.advanceTimersByTime(1_999);
  expect(server.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(server.destroyed).toBe(true);
  client.destroy();
});

it("does nothing with a stream that is closed, and takes its late errors", async () => {
  const [client, server] = await connectionPair();
  endSoon(server);
  const closed = new Promise<void>((resolve) => server.once("close", () => resolve()));
  server.destroy(new Error("late"));
  await closed;
  endSoon(server, "bye");
  expect(vi.getTimerCount()).toBe(0);
  client.destroy();
});
