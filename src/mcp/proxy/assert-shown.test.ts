import { expect, it } from "vitest";
import { assertShown, type LookOnHost } from "./assert-shown.ts";
import type { HubServer } from "./hub-server.ts";

const server = (more: object, settings: object = {}): HubServer =>
  ({
    name: "one",
    target: { kind: "stdio", name: "one", command: "node", args: [], env: {}, ownEnv: {}, cwd: undefined, ...more },
    settings: { isolation: "sandbox", network: "none", rename: {}, list: "auto", approve: "never", ...settings },
  }) as HubServer;
const FOLDERS = new Set(["/home/ann", "/home/ann/notes", "/usr/lib", "/tmp", "/tmp/own"]);
const lookOnHost: LookOnHost = (path) =>
  FOLDERS.has(path) ? "folder" : path.startsWith("/home/ann/") || path === "/usr/bin/node" ? "file" : undefined;
const mounts = (host: string): string => `"mounts": [{"host":"${host}","path":"/workspace","mode":"ro"}]`;

it.each([
  [{ args: ["--root", "/home/ann/notes"] }, {}, `write ${mounts("/home/ann/notes")} and /workspace in its place`],
  [{ args: ["--root=/home/ann/notes"] }, {}, `write ${mounts("/home/ann/notes")} and /workspace in its place`],
  [{ args: ["/home/ann/server.js"] }, {}, `write ${mounts("/home/ann")} and /workspace/server.js in its place`],
  [{ cwd: "/home/ann" }, {}, `write ${mounts("/home/ann")} and /workspace in its place`],
  [{ command: "/home/ann/run" }, {}, `write ${mounts("/home/ann")} and /workspace/run in its place`],
  [{ args: ["/tmp/own"] }, {}, `write ${mounts("/tmp/own")} and /workspace in its place`],
  [{ args: ["/home/ann/notes/a"] }, { mount: { host: "/home/ann/notes", mode: "ro" } }, "write /workspace/a in its place"],
  [{ args: ["/home/ann/a"] }, { mount: { host: "/home/ann/notes", mode: "ro" } }, "its one folder is /home/ann/notes"],
])("refuses %j with %j, whose path the sandbox will not have, with what to write", (more, settings, advice) => {
  expect(() => assertShown(server(more, settings), lookOnHost)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(advice) }),
  );
});

it.each([
  [{ args: ["/usr/lib", "/usr/bin/node", "/workspace/x", "/tmp", "/nowhere", "notes", "--flag"] }, {}],
  [{ args: ["/home/ann/notes"] }, { isolation: "none" }],
  [{ args: ["/home/ann/notes"] }, { template: "own" }],
  [{ kind: "http", url: new URL("http://127.0.0.1") }, {}],
])("takes %j with %j", (more, settings) => {
  expect(() => assertShown(server(more, settings), lookOnHost)).not.toThrow();
});
