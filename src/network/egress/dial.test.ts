import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { dialFirst, toReason } from "./dial.ts";

const signal = new AbortController().signal;

/** On 127.0.0.1 alone: the other addresses of the machine refuse. */
async function openListener(): Promise<{ readonly port: number; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer((socket) => socket.on("error", () => {}).end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void (await once(server.close(), "close")) };
}

it("connects to the first address that answers", async () => {
  await using listener = await openListener();
  const result = await dialFirst(["127.0.0.2", "127.0.0.1", "127.0.0.3"], listener.port, signal);
  if (typeof result === "string") throw new Error(result);
  expect(result.address).toBe("127.0.0.1");
  result.socket.destroy();
});

it("tries four addresses, and gives the reason of the last", async () => {
  await using listener = await openListener();
  const others = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
  const fourth = await dialFirst([...others, "127.0.0.1"], listener.port, signal);
  expect(fourth).toMatchObject({ address: "127.0.0.1" });
  if (typeof fourth !== "string") fourth.socket.destroy();
  expect(await dialFirst([...others, "127.0.0.5", "127.0.0.1"], listener.port, signal)).toBe("connection-refused");
  expect(await dialFirst([], listener.port, signal)).toBe("unreachable");
});

it("connects to nothing once its time is over", async () => {
  await using listener = await openListener();
  expect(await dialFirst(["127.0.0.1"], listener.port, AbortSignal.abort())).toBe("timed-out");
  expect(await dialFirst(["127.0.0.2", "127.0.0.1"], listener.port, AbortSignal.abort())).toBe("timed-out");
});

it.each([
  ["ECONNREFUSED", "connection-refused"],
  ["ETIMEDOUT", "timed-out"],
  ["ECONNRESET", "reset"],
  ["EPIPE", "reset"],
  ["HPE_INVALID_CONSTANT", "bad-response"],
  ["CERT_HAS_EXPIRED", "bad-certificate"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "bad-certificate"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "bad-certificate"],
  ["EHOSTUNREACH", "unreachable"],
  [undefined, "unreachable"],
])("tells a connection that failed with %s as %s", (code, reason) => {
  expect(toReason(Object.assign(new Error("failed"), { code }))).toBe(reason);
});
