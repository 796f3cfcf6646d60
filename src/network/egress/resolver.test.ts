import { createSocket } from "node:dgram";
import { once } from "node:events";
import { expect, it } from "vitest";
import { createDnsResolver } from "./resolver.ts";

it("gives up a lookup when its signal aborts", async () => {
  const server = createSocket("udp4").bind(0, "127.0.0.1");
  await once(server, "listening");
  const controller = new AbortController();
  const lookup = createDnsResolver([`127.0.0.1:${server.address().port}`]).resolve("good.test", controller.signal);
  await once(server, "message");
  controller.abort();
  await expect(lookup).rejects.toThrow(expect.objectContaining({ code: "ECANCELLED" }));
  server.close();
});
