import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { askToolServer } from "./tool-server-request.ts";

it("lets the local user ask a server of the machine's own network, and no token that stands for that user", async () => {
  const server = createServer((_, response) => void response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = { method: "GET", path: "/health", signal: AbortSignal.timeout(10_000) } as const;
  const token = { ...LOCAL, grants: { areas: ["settings"] } } as const;
  try {
    const answered = await askToolServer(LOCAL, url, request);
    expect(answered.resume().statusCode).toBe(200);
    await expect(askToolServer(token, url, request)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
