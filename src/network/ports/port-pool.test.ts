import { once } from "node:events";
import { createServer, get } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
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
