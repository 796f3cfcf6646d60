import { expect, it } from "vitest";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { clientLogins, serverLogins } from "./server-logins.ts";

const FAR: HubServer = {
  name: "far",
  target: {
    kind: "http",
    name: "far",
    url: new URL("https://far.test/mcp"),
    headers: {},
    startTimeoutMs: undefined,
    callTimeoutMs: undefined,
  },
  settings: { isolation: "sandbox", network: "none", approve: "never", list: "auto", rename: {} },
};
const logins = serverLogins({ home: "/home/ann/.belljar" });

it("gives servers that a person named the logins of `client login`, and nobody else these", () => {
  const folders = [
    logins(LOCAL.id, FAR),
    logins(LOCAL.id, { ...FAR, isOfNetwork: true }),
    logins("token:ann", FAR),
    logins("token:bob", FAR),
  ];
  const [own = "", ...others] = folders.map(({ folder }) => folder);
  expect(own).toBe(clientLogins("/home/ann/.belljar"));
  expect(new Set([own, ...others]).size).toBe(4);
  for (const folder of others) expect(folder).toMatch(/^\/home\/ann\/\.belljar\/servers\/logins\/[0-9a-f]{32}$/);
});

it("names the command of a login, with what that needs", () => {
  const advice = (owner: string, more: Partial<HubServer> = {}) => logins(owner, { ...FAR, ...more }).advice("far");
  expect(advice(LOCAL.id)).toBe("run `belljar server login far` where Belljar runs");
  expect(advice(LOCAL.id, { file: "/etc/mcp.json" })).toContain("`belljar server login far --mcp-config /etc/mcp.json`");
  expect(advice("token:ann")).toContain("`belljar server login far --owner token:ann`");
  expect(advice("token:ann", { isOfNetwork: true })).toMatch(/Belljar runs, or begin one with POST \/v1\/servers\/far\/login$/);
});
