import { createServer as createHttpServer } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { converse, type EgressLab, openConnect, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

const NAMES = { "good.test": ["127.0.0.1"], "other.test": ["127.0.0.1"], "inner.test": ["169.254.169.254"] };
const AT_ONCE = 40;

const get = (lab: EgressLab, authority: string, path = "/"): Promise<string> =>
  lab
    .proxy()
    .then((client) => converse(client, `GET http://${authority}${path} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`));

/** Resolves at an end or a reset. The bytes still on their way decide which one comes. */
function closed(client: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (client.closed) resolve();
    else client.once("close", () => resolve());
  });
}

it.each([
  ["Cyrillic letters", "xn--80ak6aa92e.com", "apple.com"],
  ["a name below the one that is meant", "good.test.other.test", "good.test"],
  ["a name that begins like it", "good.test-other.test", "good.test"],
  ["a name that ends like it", "notgood.test", "good.test"],
])("refuses a look-alike of %s, and shows it as it is", async (_what, host, allowed) => {
  await using lab = await openEgressLab({ policy: { allow: [allowed, `*.${allowed === "apple.com" ? allowed : "x.good.test"}`] } });
  expect(await get(lab, host)).toContain(`The missing rule is "${host}"`);
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "no-rule", host }]);
});

it.each([
  ["a name of 300 characters", `${"a".repeat(296)}.com`],
  ["a label of 64 characters", `${"a".repeat(64)}.com`],
  ["an encoded line break", "good.test%0d%0aX-Other:1"],
  ["a user before the host", "user@good.test"],
])("refuses %s with a line of the audit", async (_what, host) => {
  await using lab = await openEgressLab({ policy: "all" });
  expect(await get(lab, host)).toContain("x-belljar-error: bad-request");
  expect(lab.records).toMatchObject([{ verdict: "refused", reason: "bad-request" }]);
});

it("judges the target of a redirect like any other request", async () => {
  await using origin = await openOrigin(
    createHttpServer((request, response) => response.writeHead(302, { location: request.url?.slice(1) ?? "" }).end()),
  );
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [host, "inner.test"] }, names: NAMES });
  for (const [target, reason] of [
    ["inner.test", "private-address"],
    ["127.0.0.1:22", "no-rule"],
  ] as const) {
    const answer = await get(lab, host, `/http://${target}/`);
    expect(answer).toContain("302 Found");
    const [, location = ""] = /location: http:\/\/([^/]+)\//i.exec(answer) ?? [];
    expect(location).toBe(target);
    expect(await get(lab, location)).toContain(`x-belljar-error: ${reason}`);
  }
});

it("applies every change of the policy to open connections and to those that are being opened", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  const [kept, cut] = [`good.test:${origin.port}`, `other.test:${origin.port}`];
  await using lab = await openEgressLab({ policy: { allow: [kept, cut] }, names: NAMES });
  const open = (host: string): Promise<readonly Socket[]> =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const client = await openConnect(lab, host);
        client.write("ping");
        await readUntil(client, "ping");
        return client;
      }),
    );
  const [stays, goes] = [await open(kept), await open(cut)];
  const ends = goes.map((client) => closed(client.resume()));
  for (const client of goes) client.write(Buffer.alloc(100_000));
  const opening = Array.from({ length: AT_ONCE }, () =>
    openConnect(lab, cut).then(
      (client) => closed(client.resume()).then(() => "ended"),
      (error: unknown) => String(error),
    ),
  );
  for (let round = 0; round < 10; round++) lab.update({ policy: { allow: [kept, `more-${round}.test`] } });
  await Promise.all(ends);
  for (const outcome of await Promise.all(opening)) expect(outcome).toMatch(/no-rule|policy-changed|ended|ECONNRESET/);
  for (const client of stays) client.write("still");
  await Promise.all(stays.map((client) => readUntil(client, "still")));
  const reasons = lab.records.filter((row) => row.host === "other.test").map((row) => row.reason);
  expect(reasons.filter((reason) => reason === "policy-changed").length).toBeGreaterThanOrEqual(AT_ONCE);
  expect(reasons).toHaveLength(2 * AT_ONCE);
  expect(lab.records.filter((row) => row.host === "good.test")).toEqual([]);
});

it("lets two sandboxes connect to the same place, each by its own policy", async () => {
  await using origin = await openOrigin(createHttpServer((_request, response) => response.end("answered")));
  const host = `good.test:${origin.port}`;
  await using one = await openEgressLab({ policy: { allow: [host] }, names: NAMES });
  await using two = await openEgressLab({ policy: { allow: ["other.test"] }, names: NAMES });
  expect(await get(one, host)).toContain("answered");
  expect(await get(two, host)).toContain("x-belljar-error: no-rule");
});

it("refuses a request in a tunnel that asks for no path of the host", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["http://good.test:80"] }, names: NAMES });
  const request = "GET ftp://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n";
  expect(await converse(await openConnect(lab, "good.test:80"), request)).toContain("x-belljar-error: bad-request");
});
