import { describe, expect, it } from "vitest";
import { incomingMessage } from "../../../test/support/incoming-message.ts";
import { BelljarError } from "../../errors.ts";
import { assertAccess, firstVisit } from "./port-access.ts";
import type { PortLink } from "./port-link.ts";
import type { PortTarget } from "./port-target.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const [TOKEN, WRONG] = ["T".repeat(43), "W".repeat(43)];
const HOST = `80-${ID}.localhost`;
const link: PortLink = { sandbox: ID, port: 80, access: "token", token: TOKEN, createdAt: new Date(0) };
const byHost: PortTarget = { style: "host", sandbox: ID, port: 80, path: "/a", prefix: "", base: "" };
const byPath: PortTarget = { ...byHost, style: "path", prefix: `/ports/${ID}/80`, base: `/ports/${ID}/80` };

type Headers = Readonly<Record<string, string>>;
const ask = (headers: Headers = {}, method = "GET") => incomingMessage(Object.entries({ host: HOST, ...headers }), { method });

function mayUse(headers: Headers = {}, { target = byHost, method = "GET", to = link as PortLink | "none" } = {}): boolean {
  try {
    assertAccess(to === "none" ? undefined : to, ask(headers, method), target);
    return true;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PORT_LINK_INVALID") return false;
    throw cause;
  }
}

describe("a link with a token", () => {
  it("serves whoever has the token, in the path, the query, a header or a cookie", () => {
    expect(mayUse({}, { target: { ...byPath, pathToken: TOKEN } })).toBe(true);
    expect(mayUse({}, { target: { ...byHost, queryToken: TOKEN } })).toBe(true);
    expect(mayUse({ "belljar-port-token": TOKEN })).toBe(true);
    expect(mayUse({ cookie: `a=b; belljar-port=${WRONG}; belljar-port=${TOKEN}` })).toBe(true);
  });

  it("serves nobody else", () => {
    expect(mayUse()).toBe(false);
    expect(mayUse({ "belljar-port-token": WRONG, cookie: `belljar-port=${WRONG}` })).toBe(false);
    expect(mayUse({ cookie: `other=${TOKEN}` })).toBe(false);
    expect(mayUse({}, { target: { ...byPath, pathToken: WRONG, queryToken: "" } })).toBe(false);
    const { token: _, ...bare } = link;
    expect(mayUse({ "belljar-port-token": TOKEN }, { to: bare })).toBe(false);
    expect(mayUse({ "belljar-port-token": TOKEN }, { to: "none" })).toBe(false);
  });

  it("reads eight cookies", () => {
    const cookies = (count: number) =>
      [...Array.from({ length: count }, () => `belljar-port=${WRONG}`), `belljar-port=${TOKEN}`].join("; ");
    expect([mayUse({ cookie: cookies(7) }), mayUse({ cookie: cookies(8) })]).toEqual([true, false]);
  });
});

it("a public link serves everybody", () => {
  expect(mayUse({}, { to: { ...link, access: "public" } })).toBe(true);
});

describe("a cookie counts", () => {
  const cookie = `belljar-port=${TOKEN}`;
  it.each<[string, Headers, string, boolean]>([
    ["for a page of the port", { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }, "POST", true],
    ["for an address that a person typed", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }, "GET", true],
    ["for a link of another page", { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" }, "GET", true],
    ["for a look of another page", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, "HEAD", true],
    ["not for a form of another page", { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" }, "POST", false],
    ["not for what another page loads", { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }, "GET", false],
    ["for a program that says nothing", {}, "POST", true],
    ["for an old browser on the port's page", { origin: `http://${HOST.toUpperCase()}` }, "POST", true],
    ["not for an old browser on another page", { origin: "http://localhost:1" }, "GET", false],
  ])("%s", (_, headers, method, counts) => {
    expect(mayUse({ cookie, ...headers }, { method })).toBe(counts);
    expect(mayUse({ "belljar-port-token": TOKEN, ...headers }, { method })).toBe(true);
  });
});

describe("the first visit", () => {
  const withQuery = { ...byHost, queryToken: TOKEN };

  it("moves the token from the address into a cookie", () => {
    const cookie = `belljar-port=${TOKEN}; Path=/; HttpOnly; SameSite=Lax`;
    expect(firstVisit(link, ask(), withQuery)).toEqual({ location: "/a", cookie });
    expect(firstVisit(link, ask({}, "HEAD"), { ...withQuery, path: "?b" })).toEqual({ location: "/?b", cookie });
    expect(firstVisit(link, ask(), { ...withQuery, path: "" })?.location).toBe("/");
    expect(firstVisit(link, ask(), { ...withQuery, path: "//evil.test/" })?.location).toBe("/.//evil.test/");
  });

  it("moves it into the path in path style, for a page too that came by its cookie", () => {
    const moved = { location: `${byPath.base}/~${TOKEN}/a`, cookie: `belljar-port=${TOKEN}; Path=${byPath.base}/; HttpOnly; SameSite=Lax` };
    expect(firstVisit(link, ask(), { ...byPath, queryToken: TOKEN })).toEqual(moved);
    for (const destination of ["document", "iframe"])
      expect(firstVisit(link, ask({ "sec-fetch-dest": destination }), byPath)).toEqual(moved);
  });

  it("is none for other requests, and none without a token", () => {
    expect(firstVisit(link, ask({}, "POST"), withQuery)).toBeUndefined();
    expect(firstVisit(link, ask(), byHost)).toBeUndefined();
    expect(firstVisit(link, ask({ "sec-fetch-dest": "document" }), byHost)).toBeUndefined();
    expect(firstVisit(link, ask({ "sec-fetch-dest": "image" }), byPath)).toBeUndefined();
    expect(firstVisit(link, ask({ "sec-fetch-dest": "document" }), { ...byPath, pathToken: TOKEN })).toBeUndefined();
    const { token: _, ...open } = link;
    expect(firstVisit({ ...open, access: "public" }, ask(), withQuery)).toBeUndefined();
  });
});
