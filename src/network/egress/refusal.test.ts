import { expect, it } from "vitest";
import { Refusal, type Reason } from "./refusal.ts";

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
  2: ["no-rule", "private-address", "own-listener", "mixed-addresses", "sni-missing", "sni-mismatch", "placeholder", "policy-changed"],
  4: ["no-address", "unreachable", "timed-out"],
  5: ["connection-refused"],
};
const STATUSES: Readonly<Record<number, readonly Reason[]>> = {
  400: ["bad-request", "ambiguous-path"],
  403: ["no-rule", "private-address", "own-listener", "mixed-addresses", "sni-mismatch", "not-tls", "not-http", "placeholder"],
  408: ["too-slow"],
  429: ["too-many-connections", "too-fast", "too-much-data"],
  500: ["internal"],
  502: ["no-address", "unreachable", "connection-refused", "reset", "bad-certificate", "bad-response"],
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

const FAILED: readonly Reason[] = [
  "no-address",
  "unreachable",
  "connection-refused",
  "reset",
  "bad-certificate",
  "bad-response",
  "timed-out",
];
const REFUSED: readonly Reason[] = ["no-rule", "private-address", "not-tls", "placeholder", "policy-changed", "bad-request", "too-fast"];

it.each([...FAILED, "secret-missing", "internal"] as const)("is told in the audit as failed for %s", (reason) => {
  expect(new Refusal(reason, "text").verdict).toBe("failed");
});

it.each(REFUSED)("is told in the audit as refused for %s", (reason) => {
  expect(new Refusal(reason, "text").verdict).toBe("refused");
});
