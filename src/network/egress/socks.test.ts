import { createServer as createTcpServer } from "node:net";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

const port = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const toName = (host: string, to: number): Buffer => Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), Buffer.from(host), port(to)]);
const toIpv4 = (address: readonly number[], to: number): Buffer => Buffer.concat([Buffer.from([5, 1, 0, 1, ...address]), port(to)]);
const hex = (text: string): string => Buffer.from(text, "latin1").toString("hex");
const GREETING = Buffer.from([5, 2, 2, 0]);
const NAMES = { "good.test": ["127.0.0.1"], "inner.test": ["10.0.0.1"] };

it("connects to a name when the client sends everything at once", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  await using lab = await openEgressLab({ policy: { allow: [`good.test:${origin.port}`] }, names: NAMES });
  const client = await lab.socks();
  client.write(Buffer.concat([GREETING, toName("good.test", origin.port), Buffer.from("ping")]));
  expect(hex(await readUntil(client, "ping"))).toBe(`050005000001000000000000${hex("ping")}`);
  client.end();
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({ via: "socks", host: "good.test" });
});

it("connects to an address that a rule names with its port", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.end("hi")));
  await using lab = await openEgressLab({ policy: { allow: [`127.0.0.1:${origin.port}`] } });
  const client = await lab.socks();
  client.write(Buffer.concat([GREETING, toIpv4([127, 0, 0, 1], origin.port)]));
  expect(await readUntil(client, "hi")).toContain("hi");
});

it.each([
  ["a name without a rule", toName("bad.test", 80), "02", "no-rule"],
  ["a name that leads inside", toName("inner.test", 80), "02", "private-address"],
  ["a name that leads nowhere", toName("none.test", 80), "04", "no-address"],
  ["a private address", toIpv4([10, 0, 0, 1], 80), "02", "no-rule"],
  [
    "a mapped address",
    Buffer.concat([Buffer.from([5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]), port(80)]),
    "02",
    "no-rule",
  ],
  ["a name with a line break", toName("good.test\r\n", 80), "01", "bad-request"],
])("refuses %s by the reply's code", async (_what, request, code, reason) => {
  await using lab = await openEgressLab({ policy: { allow: ["inner.test", "none.test", "good.test"] }, names: NAMES });
  expect(hex(await converse(await lab.socks(), Buffer.concat([GREETING, request])))).toMatch(new RegExp(`^050005${code}`));
  expect(lab.records).toMatchObject([{ via: "socks", reason }]);
});

it.each([
  ["BIND", Buffer.from([5, 2, 0, 1, 1, 1, 1, 1, 0, 80]), "050005070001000000000000"],
  ["an unknown kind of address", Buffer.from([5, 1, 0, 9, 1, 1, 1, 1, 0, 80]), "050005080001000000000000"],
])("refuses %s", async (_what, request, answer) => {
  await using lab = await openEgressLab({ policy: "all" });
  expect(hex(await converse(await lab.socks(), Buffer.concat([GREETING, request])))).toBe(answer);
  expect(lab.records).toMatchObject([{ reason: "bad-request" }]);
});

it("refuses SOCKS4, and clients that insist on a password", async () => {
  await using lab = await openEgressLab({ policy: "all" });
  expect(await converse(await lab.socks(), Buffer.from([4, 1, 0, 80, 1, 1, 1, 1, 0]))).toBe("\u0005\u00ff");
  expect(await converse(await lab.socks(), Buffer.from([5, 1, 2]))).toBe("\u0005\u00ff");
});

it("closes the connection of a client that sends half a request", async () => {
  await using lab = await openEgressLab({ policy: "all", limits: { headMs: 100 } });
  expect(await converse(await lab.socks(), Buffer.from([5, 1]))).toBe("");
});
