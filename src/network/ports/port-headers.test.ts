import { describe, expect, it } from "vitest";
import { incomingMessage } from "../../../test/support/incoming-message.ts";
import { pathStyleHeaders, toInnerHeaders, toOuterHeaders } from "./port-headers.ts";
import type { PortTarget } from "./port-target.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const BASE = `/ports/${ID}/8000`;
const HOST = `8000-${ID}.localhost:6060`;
const byHost: PortTarget = { style: "host", sandbox: ID, port: 8000, path: "/", prefix: "", base: "" };
const byPath: PortTarget = { style: "path", sandbox: ID, port: 8000, path: "/", prefix: `${BASE}/~token`, base: BASE };

type Headers = readonly (readonly [string, string])[];

/** Names and values as pairs. */
function pairs(raw: readonly string[]): Headers {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));
}

const inner = (headers: Headers, target = byHost) => pairs(toInnerHeaders(incomingMessage([["Host", HOST], ...headers]), target));
const FORWARDED: Headers = [
  ["X-Forwarded-Host", HOST],
  ["X-Forwarded-Proto", "http"],
];

describe("the headers that the program inside gets", () => {
  it("are the client's, with where the request came from", () => {
    expect(
      inner([
        ["Accept", "a"],
        ["X-Own", "b"],
        ["x-own", "c"],
      ]),
    ).toEqual([["Host", HOST], ["Accept", "a"], ["X-Own", "b"], ["x-own", "c"], ...FORWARDED]);
    expect(inner([], byPath)).toEqual([["Host", "localhost:8000"], ...FORWARDED, ["X-Forwarded-Prefix", byPath.prefix]]);
  });

  it.each([
    "Content-Length",
    "Forwarded",
    "VIA",
    "x-real-ip",
    "X_Real_IP",
    "Expect",
    "belljar-port-token",
    "Proxy-Anything",
    "X-Forwarded-For",
    "x_forwarded_host",
    "X-Accel-Buffering",
    "Connection",
    "Transfer-Encoding",
    "Upgrade",
  ])("have no %s", (name) => {
    expect(inner([[name, "a"]])).toEqual([["Host", HOST], ...FORWARDED]);
  });

  it("have none that the client's Connection names", () => {
    expect(
      inner([
        ["Connection", "close, X-Hop"],
        ["x-hop", "a"],
        ["X-Kept", "b"],
      ]),
    ).toEqual([["Host", HOST], ["X-Kept", "b"], ...FORWARDED]);
  });

  it("have no token of the server's, but the program's own", () => {
    const kept = (value: string) => inner([["Authorization", value]]).some(([name]) => name === "Authorization");
    expect(["Bearer belljar_x", "bearer   BELLJAR_x", "Bearer other", "Basic belljar_x", "Bearer xbelljar_"].map(kept)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it("have no Referer that holds the link's token", () => {
    const kept = (value: string, target: PortTarget) => inner([["Referer", value]], target).some(([name]) => name === "Referer");
    expect(kept(`http://${HOST}/a`, byHost)).toBe(true);
    expect(kept(`http://${HOST}/?belljar_token=x`, byHost)).toBe(false);
    expect(kept(`http://localhost:6060${BASE}/~token/a`, byPath)).toBe(false);
  });

  it("have the program's own cookies, in one header", () => {
    expect(
      inner([
        ["Cookie", "a=1; belljar-port=t"],
        ["Cookie", "b=2"],
      ]),
    ).toContainEqual(["Cookie", "a=1; b=2"]);
    expect(inner([["Cookie", "belljar-port=t"]]).map(([name]) => name)).not.toContain("Cookie");
  });
});

const outer = (headers: Headers, target = byHost, request: Headers = [["Host", HOST]]) =>
  pairs(toOuterHeaders(incomingMessage(headers), incomingMessage(request), target));
const POLICY: Headers = [
  ["Content-Security-Policy", expect.stringMatching(/^sandbox allow-scripts (?!.*allow-same-origin)/) as string],
  ["Referrer-Policy", "no-referrer"],
];

describe("the headers that the browser gets", () => {
  it("are the program's", () => {
    const headers: Headers = [
      ["Content-Type", "text/html"],
      ["X-Own", "a"],
      ["X-Own", "b"],
      ["WWW-Authenticate", "Basic"],
    ];
    expect(outer(headers)).toEqual(headers);
    expect(outer(headers, byPath)).toEqual([...headers.slice(0, 3), ...POLICY]);
  });

  it.each([
    "Alt-Svc",
    "Clear-Site-Data",
    "Expect-CT",
    "NEL",
    "Public-Key-Pins",
    "Public-Key-Pins-Report-Only",
    "Report-To",
    "Reporting-Endpoints",
    "Service-Worker-Allowed",
    "Strict-Transport-Security",
    "Use-As-Dictionary",
    "Proxy-Authenticate",
    "X-Accel-Redirect",
    "X-Sendfile",
    "X-Lighttpd-Send-File",
    "Keep-Alive",
    "Transfer-Encoding",
  ])("have no %s", (name) => {
    expect(outer([[name, "a"]])).toEqual([]);
  });

  it.each(["Accept-CH", "Critical-CH", "Origin-Agent-Cluster", "Referrer-Policy", "WWW-Authenticate"])(
    "have no %s in path style, where it would hold for the server's pages too",
    (name) => {
      expect(outer([[name, "a"]])).toEqual([[name, "a"]]);
      expect(outer([[name, "a"]], byPath)).toEqual(POLICY);
    },
  );

  it("limit cookies to the port", () => {
    const cookies: Headers = [
      ["Set-Cookie", "a=1; Domain=localhost; Path=/x"],
      ["Set-Cookie", "belljar-port=evil"],
    ];
    expect(outer(cookies)).toEqual([["Set-Cookie", "a=1; Path=/x"]]);
    expect(outer(cookies, byPath)[0]).toEqual(["Set-Cookie", `port.8000-${ID}.a=1; Path=${BASE}/`]);
  });

  it("let a page without an origin load its own resources, unless the program decides itself", () => {
    const page: Headers = [["Origin", "null"]];
    const own: Headers = [
      ["Access-Control-Allow-Origin", "null"],
      ["Vary", "Origin"],
    ];
    expect(outer([], byPath, page)).toEqual([...POLICY, ...own]);
    expect(outer([["Access-Control-Allow-Origin", "*"]], byPath, page)).toEqual([["Access-Control-Allow-Origin", "*"], ...POLICY]);
    expect(outer([], byPath, [["Origin", "http://a.test"]])).toEqual(POLICY);
    expect(pairs(pathStyleHeaders(incomingMessage(page)))).toEqual([...POLICY, ...own]);
  });
});

describe("where a redirect leads", () => {
  const location = (value: string, target: PortTarget) => outer([["Location", value]], target, [["Host", "localhost:6060"]])[0]?.[1];

  it.each([
    ["/a", "/a"],
    ["/a?b#c", "/a?b#c"],
    ["a/b", "a/b"],
    ["http://localhost:8000/a?b", "/a?b"],
    ["https://127.0.0.1:8000/a", "/a"],
    ["http://0.0.0.0:8000", "/"],
    ["http://[::1]:8000?b", "/?b"],
    ["HTTP://[::]:8000#c", "/#c"],
    ["http://localhost:8000//evil.test/a", "/.//evil.test/a"],
    ["http://localhost:8001/a", "http://localhost:8001/a"],
    ["http://localhost/a", "http://localhost/a"],
    ["http://localhost:6060/a", "http://localhost:6060/a"],
    ["http://a.test/localhost:8000", "http://a.test/localhost:8000"],
    ["//a.test/b", "//a.test/b"],
  ])("in host style: %s to %s", (given, shown) => {
    expect(location(given, byHost)).toBe(shown);
  });

  it.each([
    ["/a", `${BASE}/~token/a`],
    [`${BASE}/a`, `${BASE}/a`],
    [`${BASE}x/a`, `${BASE}/~token${BASE}x/a`],
    ["a/b", "a/b"],
    ["http://localhost:8000/a", `${BASE}/~token/a`],
    ["http://localhost:6060/a", `${BASE}/~token/a`],
    ["http://localhost:6061/a", "http://localhost:6061/a"],
    ["//a.test/b", "//a.test/b"],
  ])("in path style: %s to %s", (given, shown) => {
    expect(location(given, byPath)).toBe(shown);
  });

  it("knows the port that an address without one means", () => {
    expect(location("http://localhost/a", { ...byHost, port: 80 })).toBe("/a");
  });
});
