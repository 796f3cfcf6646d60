import { expect, it } from "vitest";
import { askHalfOpen } from "../../../support/ask-half-open.ts";
import { hostOf } from "../../../support/port-lab.ts";
import { openWeb, tell } from "../../../support/port-inside.ts";

it("refuses an upgrade without a token, and lets its socket go", async () => {
  await using inside = await openWeb(tell);
  const head = `GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  expect(await askHalfOpen(inside.ports.origin, head)).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
});
