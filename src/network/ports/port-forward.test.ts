import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";
import type { Duplex } from "node:stream";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import { BelljarError } from "../../errors.ts";
import { openPortForward } from "./port-forward.ts";

/** A port inside that gives back what it gets. */
const dialEcho = async (): Promise<Duplex> => new PassThrough();
const refused: unknown[] = [];
const OPTIONS = { dial: dialEcho, local: 0, listeners: NO_LISTENERS, onRefused: (error: unknown) => void refused.push(error) };

async function connectTo(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

it("carries each connection to the port inside, both ways, and its end", async () => {
  await using forward = await openPortForward(OPTIONS);
  for (const text of ["one", "two"]) {
    const socket = await connectTo(forward.port);
    socket.end(text);
    expect(await textOf(socket)).toBe(text);
  }
});

it("closes a connection that the sandbox refuses, and says why", async () => {
  const error = new BelljarError("PORT_REFUSED", "Nothing listens");
  await using forward = await openPortForward({ ...OPTIONS, dial: () => Promise.reject(error) });
  const socket = await connectTo(forward.port);
  expect(await textOf(socket)).toBe("");
  expect(refused.splice(0)).toEqual([error]);
});

it("ends its connections when it is disposed, and reports no refusal of those that were still dialled", async () => {
  const dialled: AbortSignal[] = [];
  const dial = (signal: AbortSignal): Promise<Duplex> => {
    dialled.push(signal);
    if (dialled.length === 1) return dialEcho();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  };
  const forward = await openPortForward({ ...OPTIONS, dial });
  const carried = await connectTo(forward.port);
  carried.write("x");
  await once(carried, "data");
  const waiting = await connectTo(forward.port);
  const closed = Promise.all([carried, waiting].map((socket) => once(socket, "close")));
  await expect.poll(() => dialled.length).toBe(2);
  await forward[Symbol.asyncDispose]();
  await closed;
  expect(dialled.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect(refused).toEqual([]);
  await expect(connectTo(forward.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

it("says that a port is taken, and gives its claim back", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  let claims = 0;
  const claim = async () => {
    claims += 1;
    return { port, [Symbol.asyncDispose]: async () => void (claims -= 1) };
  };
  await expect(openPortForward({ ...OPTIONS, local: port, listeners: { claim } })).rejects.toMatchObject({
    code: "PORT_TAKEN",
    message: expect.stringContaining(`Port ${port} of this machine is in use`) as string,
  });
  expect(claims).toBe(0);
  server.close();
});

it("gives its claim back when it is disposed", async () => {
  let claims = 0;
  const claim = async () => {
    claims += 1;
    return { port: 0, [Symbol.asyncDispose]: async () => void (claims -= 1) };
  };
  const forward = await openPortForward({ ...OPTIONS, listeners: { claim } });
  expect([claims, forward.port > 0]).toEqual([1, true]);
  await forward[Symbol.asyncDispose]();
  expect(claims).toBe(0);
});
