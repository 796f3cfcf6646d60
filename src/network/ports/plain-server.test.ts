import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createPlainServer } from "./plain-server.ts";

it("reads all headers of a head whose size is bounded", async () => {
  const server = createPlainServer({ maxHeaderSize: 40_000 });
  server.on("request", ({ headersDistinct }, response) => response.end(String(headersDistinct["x"]?.length)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ask = (count: number): Promise<string> => {
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client.end(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${"X: 1234567890\r\n".repeat(count)}\r\n`);
    return text(client);
  };
  expect(await ask(3_000)).toMatch(/3000$/);
  expect(await ask(8_000)).toContain("431 ");
  server.close();
});
