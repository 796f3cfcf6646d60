import { expect, it } from "vitest";
import { assertShown } from "./assert-shown.ts";
import type { HubServer } from "./hub-server.ts";

const server = (more: object, settings: object = {}): HubServer =>
  ({
    name: "one",
    target: { kind: "stdio", name: "one", command: "node", args: [], env: {}, ownEnv: {}, cwd: undefined, ...more },
    settings: { isolation: "sandbox", network: "none", rename: {}, ...settings },
  }) as HubServer;
const isOnHost = (path: string): boolean => path.startsWith("/home/ann") || path.startsWith("/usr");

it.each([
  [{ args: ["--root", "/home/ann/notes"] }, "/home/ann/notes"],
  [{ cwd: "/home/ann" }, "/home/ann"],
])("refuses %j, whose path the sandbox will not have, with what to write", (more, path) => {
  const mounts = `"mounts": [{"host":"${path}","path":"/workspace","mode":"ro"}]`;
  expect(() => assertShown(server(more), isOnHost)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(mounts) }),
  );
});

it.each([
  [{ args: ["/usr/lib/server.js", "/workspace/x", "/tmp", "/nowhere", "notes"] }, {}],
  [{ args: ["/home/ann/notes"] }, { isolation: "none" }],
  [{ kind: "http", url: new URL("http://127.0.0.1") }, {}],
])("takes %j", (more, settings) => {
  expect(() => assertShown(server(more, settings), isOnHost)).not.toThrow();
});
