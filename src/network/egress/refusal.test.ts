import { expect, it } from "vitest";
import {
  closedAddress,
  mixedAddresses,
  noRule,
  notGrantedInside,
  ownListener,
  privateAddress,
  REASONS,
  Refusal,
  type Reason,
} from "./refusal.ts";

const FORBIDDEN: readonly Reason[] = [
  "no-rule",
  "private-address",
  "own-listener",
  "mixed-addresses",
  "sni-missing",
  "sni-mismatch",
  "encrypted-hello",
  "host-mismatch",
  "not-tls",
  "placeholder",
  "policy-changed",
];
/** The replies of RFC 1928: 1 general failure, 2 not allowed, 4 host unreachable, 5 refused. */
const REPLIES: Readonly<Record<number, readonly Reason[]>> = {
  1: [
    "bad-request",
    "ambiguous-path",
    "http2",
    "too-slow",
    "too-many-connections",
    "too-fast",
    "too-much-data",
    "reset",
    "bad-certificate",
    "bad-response",
    "secret-missing",
    "internal",
  ],
  2: FORBIDDEN,
  4: ["no-address", "unreachable", "timed-out"],
  5: ["connection-refused"],
};
const STATUSES: Readonly<Record<number, readonly Reason[]>> = {
  400: ["bad-request", "ambiguous-path"],
  403: FORBIDDEN,
  408: ["too-slow"],
  429: ["too-many-connections", "too-fast", "too-much-data"],
  500: ["internal"],
  502: ["no-address", "unreachable", "connection-refused", "reset", "bad-certificate", "bad-response", "secret-missing"],
  504: ["timed-out"],
  505: ["http2"],
};
const pairs = (table: Readonly<Record<number, readonly Reason[]>>) =>
  Object.entries(table).flatMap(([code, reasons]) => reasons.map((reason) => [reason, Number(code)] as const));

it.each(pairs(REPLIES))("tells a SOCKS client of %s with reply %i", (reason, reply) => {
  expect(new Refusal(reason, "text").socksReply).toBe(reply);
});

it.each(pairs(STATUSES))("tells an HTTP client of %s with status %i", (reason, status) => {
  expect(new Refusal(reason, "text").status).toBe(status);
});

const FAILED = new Set<string>([
  "no-address",
  "unreachable",
  "connection-refused",
  "reset",
  "bad-certificate",
  "bad-response",
  "timed-out",
  "secret-missing",
  "internal",
]);

it.each(Object.keys(REASONS) as Reason[])("is told in the audit as it ended for %s", (reason) => {
  expect(new Refusal(reason, "text").verdict).toBe(FAILED.has(reason) ? "failed" : "refused");
});

it("has a reply, a status and a verdict for every reason", () => {
  for (const table of [REPLIES, STATUSES]) expect(Object.values(table).flat().toSorted()).toEqual(Object.keys(REASONS).toSorted());
});

it.each([
  [{ host: "good.test", port: 443 }, "good.test"],
  [{ host: "good.test", port: 80 }, "good.test"],
  [{ host: "good.test", port: 81 }, "good.test:81"],
  [{ host: "1.1.1.1", port: 443 }, "1.1.1.1"],
  [{ host: "2606:4700::1", port: 443 }, "[2606:4700::1]"],
  [{ host: "10.0.0.1", port: 443 }, "10.0.0.1:443"],
  [{ host: "db", port: 443 }, "db:443"],
])("names the rule that is missing for %j: %s", (place, rule) => {
  const refusal = noRule("abc", place, "GET /a");
  expect(refusal).toMatchObject({ missingRule: rule, brief: `the missing rule is ${rule}` });
  expect(refusal.text).toContain(`GET /a of ${place.host.includes(":") ? `[${place.host}]` : place.host}:${place.port}`);
  expect(refusal.text).toContain(`belljar sandbox network abc --allow ${rule}`);
});

it("names no rule for a host that is none", () => {
  expect(noRule("abc", { host: "a b", port: 443 }).missingRule).toBeUndefined();
  expect(noRule("abc", { host: "GOOD.test", port: 443 }).missingRule).toBeUndefined();
});

it("tells of a private address without naming it", () => {
  const [name, address] = [
    { host: "db.test", port: 443 },
    { host: "10.0.0.1", port: 443 },
  ];
  expect([privateAddress("abc", name), privateAddress("abc", address)]).toMatchObject([
    { text: expect.stringMatching(/^db.test leads to an address that is/) as string, missingRule: "db.test:443" },
    { text: expect.stringMatching(/^10\.0\.0\.1 is not/) as string, missingRule: "10.0.0.1:443" },
  ]);
  expect([notGrantedInside(name).text, notGrantedInside(address).text]).toMatchObject([
    expect.stringMatching(/^db.test leads to an address that is/) as string,
    expect.stringMatching(/^10\.0\.0\.1 is not/) as string,
  ]);
  for (const refusal of [closedAddress(name), mixedAddresses(name), ownListener(name), notGrantedInside(name)])
    expect([refusal.missingRule, refusal.brief]).toEqual([undefined, refusal.reason]);
});
