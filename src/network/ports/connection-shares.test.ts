import { createServer } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect, it } from "vitest";
import { ID } from "../../../test/support/port-inside.ts";
import { askPort, hostOf, openAnswer, openPortLab, tokenOf } from "../../../test/support/port-lab.ts";
import { ConnectionShares } from "./connection-shares.ts";

const refused = expect.objectContaining({ code: "QUOTA_EXCEEDED" }) as Error;

it("counts over all of a sandbox, and over all sandboxes of an owner, and gives a place back once", () => {
  const shares = new ConnectionShares({ ofSandbox: 2, ofOwner: 3 });
  const first = shares.take({ sandbox: "a", owner: "ann" });
  shares.take({ sandbox: "a", owner: "ann" });
  expect(() => shares.take({ sandbox: "a", owner: "ann" })).toThrow(refused);
  shares.take({ sandbox: "b", owner: "ann" });
  expect(() => shares.take({ sandbox: "b", owner: "ann" })).toThrow(refused);
  shares.take({ sandbox: "c", owner: "bob" });
  shares.take({ sandbox: "d" });
  first();
  first();
  shares.take({ sandbox: "b", owner: "ann" });
  expect(() => shares.take({ sandbox: "a", owner: "ann" })).toThrow(refused);
});

it("bounds the requests to all ports of a sandbox together, while they are served", async () => {
  const inside = createServer((request, response) => void (request.url === "/held" ? response.write("1") : response.end("ok")));
  await once(inside.listen(0, "127.0.0.1"), "listening");
  await using ports = await openPortLab({ limits: { ofSandbox: 1, ofOwner: 1 } });
  const dial = async () => connect((inside.address() as AddressInfo).port, "127.0.0.1");
  const [one, other] = [ports.link(ID, 8_000, { dial }), ports.link(ID, 8_001, { dial })];
  const ask = () => askPort(ports.origin, { host: hostOf(other), headers: tokenOf(other) });
  const held = await openAnswer(ports.origin, { host: hostOf(one), headers: tokenOf(one), path: "/held" });
  expect(held.statusCode).toBe(200);
  expect((await ask()).status).toBe(429);
  held.destroy();
  inside.closeAllConnections();
  inside.close();
});
