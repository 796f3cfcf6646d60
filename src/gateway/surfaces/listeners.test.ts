import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { createPlainServer } from "../../network/ports/plain-server.ts";
import { createListeners } from "./listeners.ts";

/** Listens on these addresses when it is asked for `localhost`. */
function listenersOn(...addresses: readonly string[]) {
  const createAcceptor = () => {
    const server = createPlainServer({});
    server.on("request", (_request, response) => response.end("ours"));
    return { server, closeAllConnections: () => server.closeAllConnections() };
  };
  return createListeners(createAcceptor, async () => addresses);
}

it("refuses a port that somebody else holds at another address of the name, and then listens nowhere", async () => {
  const other = createServer().listen(0, "127.0.0.2");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  await expect(listenersOn("127.0.0.1", "127.0.0.2").open("localhost", port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow("fetch failed");
  other.close();
});

it("listens without an address that this machine does not have", async () => {
  const listeners = listenersOn("127.0.0.1", "192.0.2.1");
  const url = await listeners.open("localhost", 0);
  expect(await (await fetch(url)).text()).toBe("ours");
  listeners.cut();
  await listeners.close();
});
