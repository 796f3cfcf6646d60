import { once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PortConnections } from "./port-pool.ts";

it("reuses a kept connection, and leaves no listeners on it", async () => {
  const server = createServer((_request, response) => response.end("x")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const dialled: Duplex[] = [];
  const connections = new PortConnections(() => undefined);
  const done = connections.use(async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    // A guest's stream is no socket: it has neither `ref` nor socket options.
    const stream = Duplex.from({ readable: socket, writable: socket });
    dialled.push(stream);
    return stream;
  });
  for (let count = 0; count < 5; count += 1) {
    const [response] = (await once(get({ agent: connections.agent }), "response")) as [IncomingMessage];
    await Promise.all([once(response.resume(), "end"), once(connections.agent, "free")]);
  }
  expect(dialled).toHaveLength(1);
  expect(dialled[0]?.listenerCount("error")).toBeLessThanOrEqual(3);
  done();
  connections.close();
  server.close();
});

const dial = () => Promise.reject(new Error("Nobody answers"));

it("counts 512 exchanges at a time, each once", () => {
  const connections = new PortConnections(() => undefined);
  const done = Array.from({ length: 512 }, () => connections.use(dial));
  expect(() => connections.use(dial)).toThrow(expect.objectContaining({ code: "QUOTA_EXCEEDED" }));
  done[0]?.();
  done[0]?.();
  const last = connections.use(dial);
  expect(() => connections.use(dial)).toThrow(expect.objectContaining({ code: "QUOTA_EXCEEDED" }));
  for (const end of [last, ...done]) end();
  connections.close();
});

it("dials as the last exchange says, and not before there is one", async () => {
  const connections = new PortConnections(() => undefined);
  const connect = () => new Promise<Error | null>((resolve) => connections.connect({}, (error) => resolve(error)));
  await expect(connect()).resolves.toBeInstanceOf(TypeError);
  const signals: AbortSignal[] = [];
  connections.use(dial);
  connections.use((signal) => {
    signals.push(signal);
    return Promise.reject(new Error("refused"));
  });
  expect(await connect()).toMatchObject({ message: "refused" });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  connections.close();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

describe("connections that nobody uses", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it("are told of after four seconds, and not if they are used again or closed", () => {
    let idle = 0;
    const connections = new PortConnections(() => (idle += 1));
    const [one, other] = [connections.use(dial), connections.use(dial)];
    one();
    vi.advanceTimersByTime(60_000);
    expect(idle).toBe(0);
    other();
    vi.advanceTimersByTime(3_999);
    expect(idle).toBe(0);
    const again = connections.use(dial);
    vi.advanceTimersByTime(60_000);
    again();
    vi.advanceTimersByTime(4_000);
    expect(idle).toBe(1);
    connections.use(dial)();
    connections.close();
    vi.advanceTimersByTime(60_000);
    expect(idle).toBe(1);
  });
});
