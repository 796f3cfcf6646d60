import { createServer } from "node:http";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";

it("uses the address that a guest reports only as a name and a port for the policy to judge", async () => {
  let asked = 0;
  await using origin = await openOrigin(createServer((_request, response) => response.end(String((asked += 1)))));
  const names = { "good.test": ["127.0.0.1"] };
  await using lab = await openEgressLab({ policy: { allow: ["good.test", "127.0.0.1:9"] }, names, limits: { headMs: 100 } });
  const request = `GET / HTTP/1.1\r\nHost: good.test:${origin.port}\r\nConnection: close\r\n\r\n`;
  for (const local of [
    { address: "127.0.0.1", port: origin.port },
    { address: "169.254.169.254", port: 80 },
    { address: "::1", port: 3128 },
  ])
    await converse(await lab.inside.dial({ address: "127.0.0.1", port: 3128 }, local), request);
  await converse(await lab.inside.dial({ address: "127.0.0.1", port: 9 }, { address: "127.0.0.1", port: origin.port }), request);
  expect(asked).toBe(0);
  expect(lab.records.every(({ verdict }) => verdict !== "allowed")).toBe(true);
});
