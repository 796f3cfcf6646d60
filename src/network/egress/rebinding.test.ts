import { createServer } from "node:http";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";
import type { DnsRecord, Zone } from "../../../test/support/hostile-dns.ts";
import { openHostileDns } from "../../../test/support/hostile-dns.ts";
import { createDnsResolver } from "./resolver.ts";

const PUBLIC = "93.184.215.14";
const a = (value: string, owner?: string): DnsRecord => ({ type: "A", value, ...(owner !== undefined && { owner }) });
/** An IPv6 address by its sixteen bytes. */
const aaaa = (...groups: readonly string[]): DnsRecord => ({ type: "AAAA", value: groups.join("").padStart(32, "0") });
const ofType =
  (records: readonly DnsRecord[], others: readonly DnsRecord[] = []): Zone =>
  ({ type }) =>
    type === "A" ? records : others;

const ZONES: Readonly<Record<string, Zone>> = {
  loopback: ofType([a("127.0.0.1")]),
  "any address of this machine": ofType([a("0.0.0.0")]),
  "the metadata server": ofType([a("169.254.169.254")]),
  "the mapping inside": ofType([a("198.18.0.1")]),
  "an address for documentation": ofType([a("203.0.113.7")]),
  "a public address and one for documentation": ofType([a(PUBLIC)], [aaaa("20010db8", "000000000000000000000001")]),
  "a public address and loopback": ofType([a(PUBLIC), a("127.0.0.1")]),
  "a public address, and loopback as its AAAA": ofType([a(PUBLIC)], [aaaa("1")]),
  "a hundred addresses, of which one is loopback": ofType([...Array.from({ length: 99 }, () => a(PUBLIC)), a("127.0.0.1")]),
  "four thousand addresses, over TCP": ofType(Array.from({ length: 4000 }, (_, index) => a(index === 3999 ? "127.0.0.1" : PUBLIC))),
  "a public address over UDP and loopback over TCP": ({ isTcp, type }) =>
    type === "AAAA" ? [] : isTcp ? [a("127.0.0.1")] : Array.from({ length: 60 }, () => a(PUBLIC)),
  "a name that leads on to loopback": ofType([{ type: "CNAME", value: "next.test" }, a("127.0.0.1", "next.test")]),
  "a chain of ten names": ofType([
    ...Array.from({ length: 10 }, (_, index): DnsRecord => ({
      type: "CNAME",
      value: `n${index + 1}.test`,
      ...(index > 0 && { owner: `n${index}.test` }),
    })),
    a("127.0.0.1", "n10.test"),
  ]),
  "a name that leads to itself": ofType([{ type: "CNAME", value: "rebind.test" }]),
  "IPv4 mapped into IPv6": ofType([], [aaaa("ffff", "7f000001")]),
  "IPv4 in IPv6 as of old": ofType([], [aaaa("7f000001")]),
  NAT64: ofType([], [aaaa("0064ff9b", "0000000000000000", "7f000001")]),
  "NAT64 of a local network": ofType([], [aaaa("0064ff9b0001", "000000000000", "7f000001")]),
  "6to4": ofType([], [aaaa("20027f000001", "00000000000000000001")]),
  Teredo: ofType([], [aaaa("20010000", "7f000001", "0000", "0000", "80fffffe")]),
  "a link-local address": ofType([], [aaaa("fe80", "0000000000000000000000000001")]),
  "a site-local address": ofType([], [aaaa("fec0", "0000000000000000000000000001")]),
  "loopback as AAAA alone": ofType([], [aaaa("1")]),
  nothing: ofType([]),
  "loopback in an answer for another name": ofType([a("127.0.0.1", "other.test")]),
};

it.each(Object.entries(ZONES))("reaches nothing on this machine through a name whose DNS server answers: %s", async (_what, zone) => {
  const reached: string[] = [];
  const server = createServer((request, response) => {
    reached.push(request.url ?? "");
    response.end("reached");
  });
  await using origin = await openOrigin(server);
  await using dns = await openHostileDns(zone);
  const resolver = createDnsResolver([dns.server]);
  for (const policy of ["all", { allow: [`*.test.example`, `rebind.test`, `http://rebind.test`] }] as const) {
    await using lab = await openEgressLab({ policy, resolver, limits: { dialMs: 3_000 } });
    const port = policy === "all" ? origin.port : 80;
    const answer = await converse(
      await lab.proxy(),
      `GET http://rebind.test:${port}/ HTTP/1.1\r\nHost: rebind.test:${port}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/x-belljar-error: (?:private-address|mixed-addresses|no-address)/);
    expect(lab.records.map(({ reason }) => reason)).toEqual([expect.stringMatching(/private-address|mixed-addresses|no-address/)]);
  }
  expect(reached).toEqual([]);
  expect(dns.questions.length).toBeGreaterThan(0);
});

it("keeps the first answer of a DNS server that changes its answers, with TTL 0", async () => {
  await using origin = await openOrigin(createServer((_request, response) => response.end("reached")));
  await using dns = await openHostileDns(({ type, count }) => (type === "AAAA" ? [] : [a(count <= 2 ? "127.0.0.1" : "127.0.0.2")]));
  const host = `rebind.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host] }, resolver: createDnsResolver([dns.server]) });
  for (let round = 0; round < 5; round++)
    expect(await converse(await lab.proxy(), `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toContain(
      "reached",
    );
  expect(new Set(lab.records.map(({ address }) => address))).toEqual(new Set(["127.0.0.1"]));
  expect(dns.questions).toHaveLength(2);
});

it.each([
  "fe80::1%lo",
  "::1%lo",
  "not an address",
  "0x7f.1",
  "127.0.0.1\n",
  "127.1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::FFFF:A9FE:A9FE",
  "",
])("dials nothing when a resolver answers with %j", async (address) => {
  let reached = 0;
  await using origin = await openOrigin(createServer((_request, response) => response.end(String((reached += 1)))));
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  await using lab = await openEgressLab({ policy: "all", names: { "rebind.test": [address] }, onFault });
  const answer = await converse(
    await lab.proxy(),
    `GET http://rebind.test:${origin.port}/ HTTP/1.1\r\nHost: rebind.test:${origin.port}\r\nConnection: close\r\n\r\n`,
  );
  expect(answer).toMatch(/x-belljar-error: (?:private-address|no-address)/);
  expect([reached, faults]).toEqual([0, []]);
});

it.each([
  "REBIND.test",
  "rebind.test.",
  "rebind.test:PORT",
  "ｒｅｂｉｎｄ.test",
  "rebind。test",
  "re%62ind.test",
  "rebind.test\u00ad",
  "127.0.0.1.",
  "127。0。0。1",
  "①②⑦.0.0.1",
  "[::ffff:127.0.0.1]",
  "[0:0:0:0:0:ffff:7f00:1]",
])("takes %s for no other host than it is judged as", async (spelling) => {
  let reached = 0;
  await using origin = await openOrigin(createServer((_request, response) => response.end(String((reached += 1)))));
  await using lab = await openEgressLab({ policy: "all", names: { "rebind.test": ["127.0.0.1"] } });
  const authority = spelling.endsWith("PORT") ? spelling.replace("PORT", String(origin.port)) : `${spelling}:${origin.port}`;
  const bytes = Buffer.from(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
  expect(await converse(await lab.proxy(), bytes)).toMatch(/^HTTP\/1.1 [45]\d\d /);
  expect(reached).toBe(0);
});
