import { Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { createSurfaceMap } from "./surface-map.ts";
import type { Claimant } from "./surface-map.ts";

const REST: Claimant = { name: "rest", reach: { prefixes: ["/", "/v1"] } };
const MCP: Claimant = { name: "mcp", reach: { prefixes: ["/mcp"] } };
const TOOLS: Claimant = { name: "tools", reach: { prefixes: ["/mcp/tools"] } };
const PORTS: Claimant = { name: "ports", reach: { hosts: ["*.localhost"], prefixes: ["/ports"] } };
const PLANE: Claimant = { name: "plane", reach: { hosts: ["*.e2b.localhost", "api.example.com"], headers: ["e2b-sandbox-id"] } };
const ALL = [REST, MCP, TOOLS, PORTS, PLANE];

const ask = (url: string, headers: Record<string, string> = {}): string =>
  createSurfaceMap(ALL).find({ url, socket: new Socket(), headers: { host: "127.0.0.1:6060", ...headers } }).name;

it("finds the longest prefix, by whole segments", () => {
  expect([ask("/mcp"), ask("/mcp?sandbox=a"), ask("/mcp/other"), ask("/mcp/tools"), ask("/mcp/tools/call")]).toEqual([
    "mcp",
    "mcp",
    "mcp",
    "tools",
    "tools",
  ]);
  expect([ask("/mcpx"), ask("/portsx"), ask("/v1/sandboxes"), ask("/"), ask("*"), ask("")]).toEqual(Array(6).fill("rest"));
  expect([ask("/ports"), ask("/ports/x/1/")]).toEqual(["ports", "ports"]);
});

it("reads the path of a whole URL, and takes no other spelling for a path", () => {
  expect([ask("http://127.0.0.1/mcp"), ask("HTTP://127.0.0.1/mcp/tools?a")]).toEqual(["mcp", "tools"]);
  expect([ask("//mcp"), ask("/%6dcp"), ask("/MCP"), ask("/x/../mcp"), ask("mcp")]).toEqual(Array(5).fill("rest"));
});

it("looks at the host before a header, and at a header before the path", () => {
  const sandbox = { "e2b-sandbox-id": "x" };
  expect(ask("/mcp", sandbox)).toBe("plane");
  expect(ask("/mcp", { ...sandbox, host: "8000-x.localhost" })).toBe("ports");
  expect(ask("/mcp", { host: "8000-x.localhost:6060" })).toBe("ports");
});

it("finds a host under its wildcard, in any case, and the longer one of two", () => {
  const hosts = ["49983-x.e2b.localhost", "A.B.E2B.LOCALHOST:6060", "api.example.com", "e2b.localhost", "localhost", "x.api.example.com"];
  expect(hosts.map((host) => ask("/", { host }))).toEqual(["plane", "plane", "plane", "ports", "rest", "rest"]);
});

it("finds a path of a header alone before the path itself, and asks no other request with the header", () => {
  const { find } = createSurfaceMap([...ALL, { name: "tokens", reach: { headers: ["x-access-token/health"] } }]);
  const at = (url: string, more: Record<string, string>, method = "GET"): string =>
    find({ method, url, socket: new Socket(), headers: { host: "localhost", ...more } }).name;
  const token = { "x-access-token": "t" };
  expect([at("/health", token), at("/health?a", token), at("/health/", token)]).toEqual(["tokens", "tokens", "tokens"]);
  expect([at("/healthy", token), at("/v1", token), at("/health", {})]).toEqual(["rest", "rest", "rest"]);
  const preflight = {
    origin: "https://a.test",
    "access-control-request-method": "GET",
    "access-control-request-headers": "x-access-token",
  };
  expect([at("/health", preflight, "OPTIONS"), at("/v1", preflight, "OPTIONS")]).toEqual(["tokens", "rest"]);
});

it("finds the rest of one label, and a path of a host alone, before a shorter name", () => {
  const surfaces = [
    ...ALL,
    { name: "files", reach: { hosts: ["49983-*.localhost"] } },
    { name: "content", reach: { hosts: ["api.example.com/content"] } },
  ];
  const { find } = createSurfaceMap(surfaces);
  const at = (host: string, url = "/mcp"): string => find({ url, socket: new Socket(), headers: { host, "e2b-sandbox-id": "x" } }).name;
  expect([at("49983-x.localhost"), at("49983-X.localhost:6060")]).toEqual(["files", "files"]);
  expect(["49983-.localhost", "49983-x.y.localhost", "149983-x.localhost", "4998-x.localhost"].map((host) => at(host))).toEqual(
    Array(4).fill("ports"),
  );
  expect([at("api.example.com", "/content/a"), at("api.example.com", "/contents"), at("localhost", "/content")]).toEqual([
    "content",
    "plane",
    "plane",
  ]);
});

it("says who answers what: by host, by header, by path", () => {
  expect(createSurfaceMap(ALL).roots.map(({ kind, root, surface }) => `${kind} ${root} ${surface}`)).toEqual([
    "host *.e2b.localhost plane",
    "host *.localhost ports",
    "host api.example.com plane",
    "header e2b-sandbox-id plane",
    "path / rest",
    "path /mcp mcp",
    "path /mcp/tools tools",
    "path /ports ports",
    "path /v1 rest",
  ]);
});

it("finds a host with certificates by TLS alone", () => {
  const certificates = { contextFor: () => createSecureContext() };
  const reach = { hosts: ["*.vendor.localhost"], tls: { hosts: ["*.vendor.test"], certificates } };
  const { find, findTls, roots } = createSurfaceMap([REST, { name: "secure", reach }]);
  const headers = { host: "a.vendor.test" };
  expect(find({ url: "/", headers, socket: new Socket() }).name).toBe("rest");
  expect(find({ url: "/", headers, socket: new TLSSocket(new Socket()) }).name).toBe("secure");
  expect(find({ url: "/", headers: { host: "a.vendor.localhost" }, socket: new Socket() }).name).toBe("secure");
  const names = ["A.vendor.test", "vendor.test", "a.vendor.localhost"];
  expect(names.map((name) => findTls(name))).toEqual([certificates, undefined, undefined]);
  expect(roots.map(({ root }) => root)).toEqual(["*.vendor.localhost", "*.vendor.test", "/", "/v1"]);
});

it("refuses two that claim the same", () => {
  for (const reach of [{ prefixes: ["/mcp"] }, { hosts: ["*.localhost"] }, { headers: ["e2b-sandbox-id"] }])
    expect(() => createSurfaceMap([...ALL, { name: "late", reach }])).toThrow(/belongs to \w+ already, and late claims it too/);
});

it("refuses to leave a path to nobody", () => {
  expect(() => createSurfaceMap([MCP, PORTS])).toThrow(/No surface answers what is nobody's/);
});

it("refuses a route where another surface answers", () => {
  const astray = { name: "astray", reach: { prefixes: ["/astray"] }, paths: ["/astray/a", "/mcp/b"] };
  expect(() => createSurfaceMap([...ALL, astray])).toThrow("The route /mcp/b of astray is never asked: its path belongs to mcp");
  expect(() => createSurfaceMap([...ALL, { ...astray, reach: { headers: ["x-astray"] } }])).not.toThrow();
});
