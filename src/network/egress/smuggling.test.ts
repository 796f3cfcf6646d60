import { createServer } from "node:http";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";

it.each(["GET", "HEAD", "DELETE", "OPTIONS", "POST"])("frames the body of a %s, so that no second request hides in it", async (method) => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    request.resume().once("end", () => response.end());
  });
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  const rule = `${method} http://${host}/open`;
  await using lab = await openEgressLab({ policy: { allow: [rule] }, names: { "good.test": ["127.0.0.1"] } });
  const hidden = `DELETE /closed HTTP/1.1\r\nHost: other.test\r\n\r\n`;
  const body = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
  const head = `${method} http://${host}/open HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n`;
  await converse(await lab.proxy(), `${head}Connection: close\r\n\r\n${body}`);
  expect(seen).toEqual([`${method} /open`]);
});

it("refuses a body in a transfer coding that servers may read differently", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] } });
  const request =
    "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n";
  expect(await converse(await lab.proxy(), request)).toContain("x-belljar-error: bad-request");
});
