import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { expect, it } from "vitest";
import type { ListeningGuest } from "../../../test/support/egress-lab.ts";
import { converse, openConnect, openEgressLab, openListeningGuest, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import { Allowance } from "./bounds.ts";
import { createEgress } from "./create-egress.ts";

const WIDE = { connections: 1000, connectionsPerSecond: 1000, bytesPerDay: 1e9 };
/** A DNS query for bad.test, over TCP. */
const QUESTION = Buffer.from("001a 0001 0100 0001 0000 0000 0000 03 626164 04 74657374 00 0001 0001".replaceAll(" ", ""), "hex");
const GET = "GET http://bad.test/ HTTP/1.1\r\nHost: bad.test\r\nConnection: close\r\n\r\n";

it("limits connections, their rate, and the bytes of a day", () => {
  let now = 0;
  const allowance = new Allowance({ connections: 2, connectionsPerSecond: 1, bytesPerDay: 100 }, () => now);
  allowance.open();
  allowance.open();
  expect(allowance.findExcess()).toBe("too-many-connections");
  allowance.close();
  expect(allowance.findExcess()).toBeUndefined();
  for (let count = 0; count < 8; count++) {
    allowance.open();
    allowance.close();
  }
  expect(allowance.findExcess()).toBe("too-fast");
  now += 1000;
  expect(allowance.findExcess()).toBeUndefined();
  expect(allowance.takeBytes(99)).toBe(true);
  expect(allowance.takeBytes(1)).toBe(false);
  expect(allowance.findExcess()).toBe("too-much-data");
  now += 86_400_000;
  expect(allowance.findExcess()).toBeUndefined();
  expect(allowance.takeBytes(99)).toBe(true);
  now += 86_400_000 - 1;
  expect(allowance.takeBytes(1)).toBe(false);
  now += 1;
  expect(allowance.findExcess()).toBeUndefined();
});

it("makes requests wait for their turns", () => {
  let now = 0;
  const allowance = new Allowance({ connections: 2, connectionsPerSecond: 1, bytesPerDay: 100 }, () => now);
  for (let count = 0; count < 50; count++) expect(allowance.takeTurn()).toBe(0);
  expect([allowance.takeTurn(), allowance.takeTurn()]).toEqual([200, 400]);
  now += 600;
  expect(allowance.takeTurn()).toBe(0);
});

it("delays a flood of DNS queries on one connection, until the sandbox ends", async () => {
  const limits = { sandbox: { ...WIDE, connectionsPerSecond: 1 } };
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, limits });
  const client = await lab.names();
  client.resume().write(Buffer.concat(Array.from({ length: 1000 }, () => QUESTION)));
  await lab.recorded(() => lab.records.length === 50);
  for (let other = 0; other < 5; other++) await converse(await lab.proxy(), "nonsense\r\n\r\n");
  const ended = once(client, "end");
  lab.inside.end();
  await ended;
  expect(lab.records.filter(({ via }) => via === "dns").length).toBeLessThan(55);
});

it("refuses one connection too many, and accepts the next once one has closed", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, limits: { sandbox: { ...WIDE, connections: 1 } } });
  const first = await lab.proxy();
  first.write("GET ");
  const answer = await converse(await lab.proxy(), GET);
  expect(answer).toContain("429 Too Many Requests");
  expect(answer).toContain("x-belljar-error: too-many-connections");
  expect(lab.records).toMatchObject([{ reason: "too-many-connections" }]);
  expect(await converse(first, GET.slice(4))).toContain("x-belljar-error: no-rule");
  expect(await converse(await lab.proxy(), GET)).toContain("x-belljar-error: no-rule");
});

it("bounds all sandboxes of an owner together", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, limits: { owner: { ...WIDE, connections: 0 } } });
  expect(await converse(await lab.proxy(), GET)).toContain("too-many-connections");
});

it("gives the sandboxes of one owner one allowance, and another owner its own", async () => {
  await using one = await openListeningGuest();
  await using two = await openListeningGuest();
  await using other = await openListeningGuest();
  const limits = { owner: { ...WIDE, connections: 1 } };
  const egress = createEgress({ record: () => {}, listeners: NO_LISTENERS, limits });
  await using _egress = egress;
  const policy = { allow: ["good.test"] };
  const serve = (id: string, owner: string, { guest }: ListeningGuest) => egress.serve({ id, owner, guest }, { policy }).ready;
  await Promise.all([serve("one", "ann", one), serve("two", "ann", two), serve("other", "bob", other)]);
  const dial = (inside: ListeningGuest) => inside.dial({ address: "127.0.0.1", port: 3128 });
  const held = await dial(one);
  expect(await converse(await dial(two), GET)).toContain("x-belljar-error: too-many-connections");
  expect(await converse(await dial(other), GET)).toContain("x-belljar-error: no-rule");
  expect(await converse(held, GET)).toContain("x-belljar-error: no-rule");
  expect(await converse(await dial(two), GET)).toContain("x-belljar-error: no-rule");
});

it("cuts a connection that carries more than a day allows", async () => {
  await using origin = await openOrigin(createHttpServer((_request, response) => response.end(Buffer.alloc(1_000_000))));
  const host = `good.test:${origin.port}`;
  const limits = { sandbox: { ...WIDE, bytesPerDay: 100_000 } };
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] }, limits });
  const answer = await converse(await lab.proxy(), `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(answer.length).toBeLessThan(500_000);
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "too-much-data" }]);
  expect(await converse(await lab.proxy(), GET)).toContain("too-much-data");
});

it("stops reading from a fast server while the program does not read", async () => {
  let sent = 0;
  const server = createTcpServer((socket) => {
    const chunk = Buffer.alloc(65_536);
    const push = (): void => {
      while (sent < 1e9 && socket.write(chunk)) sent += chunk.length;
    };
    socket.on("drain", push);
    push();
  });
  await using origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] }, limits: { idleMs: 300 } });
  const client = await openConnect(lab, host);
  client.pause();
  expect(await lab.recorded(() => true)).toMatchObject({ verdict: "allowed" });
  expect(sent).toBeLessThan(100_000_000);
  client.destroy();
});

it("limits the requests that wait on one connection", async () => {
  await using origin = await openOrigin(createHttpServer(() => {}));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, names: { "good.test": ["127.0.0.1"] } });
  const client = await lab.proxy();
  client.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(40));
  await readUntil(client, "never").catch(() => {});
  expect(lab.records.filter((row) => row.reason === "too-fast")).toMatchObject([{ verdict: "refused" }]);
});

it("tells 64 connections at a time that they are too many, and closes further ones unanswered", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, limits: { sandbox: { ...WIDE, connections: 0 } } });
  for (let count = 0; count < 64; count += 1) await readUntil(await lab.proxy(), "429 Too Many Requests");
  const further = await lab.proxy();
  const chunks: Buffer[] = [];
  further.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve) => void further.once("end", resolve).once("error", () => resolve()));
  expect(Buffer.concat(chunks).toString()).toBe("");
});
