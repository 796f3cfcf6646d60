import { expect, it } from "vitest";
import { readHubFile } from "./hub-file.ts";
import { tellSettings } from "./tell-settings.ts";

const SCOPE = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map<string, string>(), lookOnHost: () => undefined };

async function tell(entry: object): Promise<Record<string, string>> {
  const { servers, unusable } = await readHubFile(JSON.stringify({ mcpServers: { one: entry } }), "mcp.json", SCOPE);
  expect(unusable).toEqual([]);
  return Object.fromEntries(servers.flatMap((server) => tellSettings(server)).map(({ name, value }) => [name, value]));
}

it("tells all that an entry gives its server or confines it to, and no value that is a secret", async () => {
  const told = await tell({
    command: "memo",
    cwd: "/srv",
    env: { TOKEN: "t0ken", LD_PRELOAD: "/x.so" },
    secrets: { held: { env: "API_KEY", hosts: ["api.example.com"] }, plain: { env: "PLAIN", deliver: "raw" } },
    template: "tools",
    limits: { pids: 7 },
    approve: "always",
    pin: "strict",
    list: "search",
    select: ["remove", "add"],
    rename: { remove: "read" },
  });
  expect(told).toEqual({
    env: "TOKEN, LD_PRELOAD",
    cwd: "/srv",
    secrets: 'API_KEY: the secret "held", for api.example.com alone, PLAIN: the secret "plain", its value itself',
    template: "tools",
    limits: "pids 7",
    approve: "always",
    pin: "strict",
    list: "search",
    select: '"remove", "add"',
    rename: '"remove" as "read"',
  });
});

it("tells the names of headers, that nothing is selected, and what is left out", async () => {
  const select = Array.from({ length: 9_000 }, (_, index) => `tool-${index}`);
  expect(await tell({ url: "https://example.com/mcp", headers: { Authorization: "Bearer t0ken" }, select: [] })).toEqual({
    headers: "Authorization",
    approve: "never",
    pin: "no: changes are told",
    list: "auto",
    select: "no tool",
  });
  expect((await tell({ command: "memo", select }))["select"]).toMatch(/\(cut: \d+ more characters\)$/);
});
