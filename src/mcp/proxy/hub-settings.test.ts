import { expect, it } from "vitest";
import { assertHasEffect, readHubSettings, withReach } from "./hub-settings.ts";

/** Keys that hosts write beside those that are read. */
const HOST_KEYS = `
  type transport transportType transport_type command args env envFile env_file env_vars envs env_keys cmd cwd working_directory workingDirectory
  url uri httpUrl serverUrl baseUrl base_url endpoint headers http_headers headersHelper auth oauth apiKey bearerToken scopes
  disabled enabled isActive active is_active enable required optional start_on_launch autostart autoStart startup bundled isBuiltin
  timeout timeout_ms timeoutMs initTimeout connectionTimeout startup_timeout_ms startup_timeout_sec tool_timeout_sec sseReadTimeout longRunning
  autoApprove alwaysAllow auto_approve autoRun trust isTrusted approvalPolicy approval_mode default_tools_approval_mode alwaysLoad
  disabledTools disabled_tools enabledTools enabled_tools includeTools excludeTools tools toolFilter available_tools toolPermissions permissions
  name title description label labels displayName display_name id key uuid icon iconPath logoUrl faviconUrl icons tags note notes _comment comment
  version gallery dev source settings context_server extension provider providerUrl registryUrl installSource dxtPath fromGalleryId marketplace
  watchPaths roots requestOptions customUserVars requiresOAuth chatMenu serverInstructions instructions proxy sampling elicitation
  authProviderType targetAudience targetServiceAccount supports_parallel_tool_calls options openapi passthroughHeaders perSession keepAliveInterval
  ping host port path image volumes ports networks_allowed sandboxEnabled sandbox platform platforms runtime shell inputs retry retries reconnect
  lastError state status owner created createdAt updatedAt remoteConfigured metadata meta _meta
`
  .trim()
  .split(/\s+/);

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
  ["aprove", "approve"],
  ["netwrok", "network"],
  ["Network", "network"],
  ["mount", "mounts"],
  ["isolaton", "isolation"],
  ["secret", "secrets"],
  ["limit", "limits"],
  ["tempalte", "template"],
  ["selcet", "select"],
  ["lsit", "list"],
  ["renmae", "rename"],
  ["pins", "pin"],
])("refuses %j, which is almost %j, and takes no server that it would not confine", (key, meant) => {
  const message = `mcp.json: server "one", ${key}: is no field. Did you mean "${meant}"?`;
  expect(() => readHubSettings({ command: "node", [key]: "x" }, place)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message }),
  );
});

it.each(HOST_KEYS)("takes %j, which is another host's", (key) => {
  expect(() => readHubSettings({ command: "node", [key]: "x" }, place)).not.toThrow();
});

it.each([
  ["http", {}, { limits: {} }, "limits"],
  ["stdio", { isolation: "none" }, { network: "none" }, "network"],
  ["stdio", { isolation: "none" }, { mounts: [] }, "mounts"],
  ["stdio", { isolation: "none" }, { limits: {} }, "limits"],
])("refuses what has no effect on a server of kind %s with %j: %j", (kind, more, fields, field) => {
  const entry = { ...more, ...fields };
  const check = () => assertHasEffect({ kind: kind as "stdio" }, readHubSettings(entry, place), entry, place);
  expect(check).toThrow(expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(`${field}: has no effect`) }));
});

it("confines the requests to a server over HTTP by its network, where its entry names one", () => {
  const read = (entry: object, kind: "http" | "stdio") => {
    const settings = withReach(readHubSettings(entry, place), { kind }, entry);
    assertHasEffect({ kind }, settings, entry, place);
    return settings.reaches;
  };
  expect(read({ network: { allow: ["api.example.com"] } }, "http")).toEqual({ allow: ["api.example.com"] });
  expect([read({}, "http"), read({ network: "all" }, "stdio")]).toEqual([undefined, undefined]);
});

it("takes the same of a server in a sandbox", () => {
  const entry = { network: "none", mounts: [], limits: {} };
  expect(() => assertHasEffect({ kind: "stdio" }, readHubSettings(entry, place), entry, place)).not.toThrow();
});
