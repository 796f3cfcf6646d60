import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { converse, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";
import { openOwnListeners } from "../own-listeners.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "bj-own-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const openHost = () => openOrigin(createServer((_request, response) => void response.end("the host's own answer")));
const get = (place: string): string => `GET http://${place}/ HTTP/1.1\r\nHost: ${place}\r\nConnection: close\r\n\r\n`;
const OWN = Object.values(networkInterfaces())
  .flatMap((rows) => rows ?? [])
  .filter(({ family }) => family === "IPv4")
  .map(({ address }) => address);

it("refuses Belljar's own ports under every name and address of this machine", async () => {
  await using host = await openHost();
  const listeners = openOwnListeners(directory);
  const names = { "own.test": ["127.0.0.1"], "odd.test": ["127.3.2.1"] };
  const hosts = [...Object.keys(names), ...OWN, "127.5.5.5", "0.0.0.0"];
  await using lab = await openEgressLab({ policy: { allow: hosts.map((one) => `${one}:${host.port}`) }, names, listeners });
  for (const one of ["own.test", "127.0.0.1"])
    expect(await converse(await lab.proxy(), get(`${one}:${host.port}`))).toContain("the host's own answer");
  await using _claimed = await openOwnListeners(directory).claim({ host: "127.0.0.1", port: host.port });
  for (const one of hosts) expect(await converse(await lab.proxy(), get(`${one}:${host.port}`)), one).toContain("own-listener");
});

it("refuses Belljar's own port to a name that has another address beside this machine's", async () => {
  await using host = await openHost();
  const names = { "both.test": ["10.255.255.1", "127.0.0.1"], "turned.test": ["127.0.0.1", "10.255.255.1"] };
  const hosts = Object.keys(names);
  const listeners = { has: async (port: number) => port === host.port };
  let connections = 0;
  host.server.on("connection", () => (connections += 1));
  await using lab = await openEgressLab({ policy: { allow: hosts.map((one) => `${one}:${host.port}`) }, names, listeners });
  for (const one of hosts) expect(await converse(await lab.proxy(), get(`${one}:${host.port}`)), one).toContain("own-listener");
  expect(connections).toBe(0);
});

it("refuses a port if it cannot find out whether the port is Belljar's", async () => {
  await using host = await openHost();
  const listeners = { has: () => Promise.reject(new Error("no folder")) };
  await using lab = await openEgressLab({ policy: { allow: [`127.0.0.1:${host.port}`] }, listeners });
  expect(await converse(await lab.proxy(), get(`127.0.0.1:${host.port}`))).toContain("own-listener");
});

it("cuts a connection to a port that Belljar claims meanwhile", async () => {
  await using host = await openHost();
  let asked = 0;
  const listeners = { has: async () => (asked += 1) > 1 };
  await using lab = await openEgressLab({ policy: { allow: [`127.0.0.1:${host.port}`] }, listeners });
  expect(await converse(await lab.proxy(), get(`127.0.0.1:${host.port}`))).toContain("own-listener");
});

it("follows a name to a private address only if the rule's author may allow it", async () => {
  await using host = await openHost();
  const rule = `db.test:${host.port}`;
  const names = { "db.test": ["127.0.0.1"] };
  for (const [within, told] of [
    ["none", `network:${rule}`],
    ["all", `network:${rule}`],
    [{ allow: ["db.test"] }, `network:${rule}`],
    [{ allow: [rule] }, "the host's own answer"],
    [undefined, "the host's own answer"],
  ] as const) {
    await using lab = await openEgressLab({ policy: { allow: [rule] }, names, ...(within !== undefined && { within }) });
    expect(await converse(await lab.proxy(), get(rule)), JSON.stringify(within)).toContain(told);
  }
});

it("refuses a private address once `inside` no longer allows it", async () => {
  await using host = await openHost();
  const place = `127.0.0.1:${host.port}`;
  await using lab = await openEgressLab({ policy: { allow: [place] } });
  expect(await converse(await lab.proxy(), get(place))).toContain("the host's own answer");
  lab.update({ inside: "none" });
  expect(await converse(await lab.proxy(), get(place))).toContain("private-address");
});
