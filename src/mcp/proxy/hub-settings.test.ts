import { expect, it } from "vitest";
import { assertHasEffect, readHubSettings } from "./hub-settings.ts";

const place = { file: "mcp.json", name: "one" };

it("gives a server that says nothing a sandbox without network and folders", () => {
  const settings = readHubSettings({ command: "node", autoApprove: ["x"], alwaysAllow: 5, disabledTools: {} }, place);
  expect(settings).toEqual({
    isolation: "sandbox",
    network: "none",
    list: "auto",
    approve: "never",
    rename: {},
    mount: undefined,
    select: undefined,
    template: undefined,
  });
});

it("reads what an entry says to the hub", () => {
  const given = {
    network: { allow: ["npm"] },
    limits: { pids: 9 },
    mounts: [{ host: "/data", mode: "rw" }],
    select: ["a"],
    rename: { a: "b" },
    list: "search",
    approve: "always",
  };
  expect(readHubSettings({ ...given, isolation: "none", template: "node" }, place)).toEqual({
    isolation: "none",
    network: { allow: ["npm"] },
    limits: { pids: 9 },
    mount: { host: "/data", mode: "rw" },
    select: new Set(["a"]),
    rename: { a: "b" },
    list: "search",
    approve: "always",
    template: "node",
  });
});

it.each([
  [{ isolation: "host" }, /isolation/],
  [{ network: "npm" }, /network: must be "none", "all" or/],
  [{ mounts: [{ host: "data" }] }, /mounts\.0\.host: must be an absolute path/],
  [{ mounts: [{ host: "/data", path: "/data" }] }, /mounts\.0\.path: must be \/workspace/],
  [{ mounts: [{ host: "/a" }, { host: "/b" }] }, /mounts: .*one folder/],
  [{ mounts: [{ host: "/a", mode: "r" }] }, /mounts\.0\.mode/],
  [{ limits: { memory: 1 } }, /limits/],
  [{ select: "a" }, /select/],
  [{ list: "some" }, /list/],
  [{ approve: true }, /approve/],
  [{ rename: { a: "" } }, /rename\.a/],
])("refuses %j, with the file, the server and the field", (entry, message) => {
  expect(() => readHubSettings(entry, place)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
  );
  expect(() => readHubSettings(entry, place)).toThrow(/^mcp\.json: server "one"/);
});

it.each([
  ["http", {}, { network: "none" }, "network"],
  ["stdio", { isolation: "none" }, { mounts: [] }, "mounts"],
  ["stdio", { isolation: "none" }, { limits: {} }, "limits"],
])("refuses what has no effect on a server of kind %s with %j: %j", (kind, more, fields, field) => {
  const entry = { ...more, ...fields };
  const check = () => assertHasEffect({ kind: kind as "stdio" }, readHubSettings(entry, place), entry, place);
  expect(check).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(`${field}: has no effect`) }));
});

it("takes the same of a server in a sandbox", () => {
  const entry = { network: "none", mounts: [], limits: {} };
  expect(() => assertHasEffect({ kind: "stdio" }, readHubSettings(entry, place), entry, place)).not.toThrow();
});
