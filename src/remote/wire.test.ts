import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { createCallProbe } from "../../test/support/call-probe.ts";
import { fullSample } from "../../test/support/full-sample.ts";
import { createNoSandboxes } from "../../test/support/no-sandboxes.ts";
import { createOneSandbox } from "../../test/support/one-sandbox.ts";
import { createGateway } from "../gateway/gateway.ts";
import type { CreatedSandbox, CreateOptions, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import { hostIsolationSchema, portsSchema, usageSchema } from "../sandbox/wire/answer-schemas.ts";
import { createOptionsSchema } from "../sandbox/wire/create-schema.ts";
import { sandboxSchema } from "../sandbox/wire/sandbox-schema.ts";
import { type Builds, noTemplates, type Templates } from "../template/templates.ts";
import { type BuildInfo, buildSchema } from "../template/wire/build-schema.ts";
import { type TemplateOptions, templateOptionsSchema, templateSchema } from "../template/wire/template-schema.ts";
import { createRemoteTemplates } from "./remote-templates.ts";
import { createRemoteSandboxes, fetchIsolation } from "./remote-sandboxes.ts";

/** Every field that the schemas have is in these. */
const INFO = sandboxSchema.parse(fullSample(sandboxSchema));
const PAGE = { sandboxes: [INFO], nextCursor: "next" };
const USAGE = usageSchema.parse(fullSample(usageSchema));
const PORTS = portsSchema.parse(fullSample(portsSchema));
const ISOLATION = hostIsolationSchema.parse(fullSample(hostIsolationSchema));
const TEMPLATE = templateSchema.parse(fullSample(templateSchema));
const LOST = ["The host's /usr has changed since"];
const signal = new AbortController().signal;

/** A server of these sandboxes, and its client. */
async function openServer(sandboxes: Sandboxes, templates?: Templates) {
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes,
    ...(templates && { templates: async () => templates }),
    tools: createCallProbe().tools,
    isolation: async () => ISOLATION,
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const address = { url: (await gateway.listen()).href };
  return { address, remote: createRemoteSandboxes(address), [Symbol.asyncDispose]: () => gateway.close(0) };
}

/** One sandbox with all fields; what is asked of `create` and `default` is kept. */
async function openFullServer() {
  const wishes: CreateOptions[] = [];
  const one = createOneSandbox(async () => {
    throw new TypeError("Nobody connects here");
  });
  const inner = await one.get(LOCAL, "a1b2c3d4");
  const sandbox: Sandbox = { ...inner, info: async () => INFO, usage: async () => USAGE, ports: async () => PORTS };
  const made = (options: CreateOptions): CreatedSandbox => {
    wishes.push(options);
    return options.template === undefined ? sandbox : { ...sandbox, lost: LOST };
  };
  const server = await openServer({
    ...one,
    create: async (_principal, options) => made(options),
    default: async (_principal, _name, options) => ({ created: true, sandbox: made(options) }),
    get: async () => sandbox,
    info: async () => INFO,
    list: async () => PAGE,
  });
  return { ...server, wishes };
}

/** Answers every request with this. */
async function openForeignServer(answer: unknown) {
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address: { url },
    remote: createRemoteSandboxes({ url }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

it("loses no field of a sandbox on the way to the client", async () => {
  await using server = await openFullServer();
  expect(await server.remote.info(LOCAL, INFO.id)).toEqual(INFO);
  expect(await server.remote.list(LOCAL)).toEqual(PAGE);
  expect(await (await server.remote.get(LOCAL, INFO.id)).usage()).toEqual(USAGE);
  expect(await (await server.remote.get(LOCAL, INFO.id)).ports()).toEqual(PORTS);
  expect(await fetchIsolation(server.address)).toEqual(ISOLATION);
});

it.each(["one", "two"] as const)("tells the client of a runtime with %s users", async (users) => {
  await using server = await openForeignServer({ ...ISOLATION, users });
  expect(await fetchIsolation(server.address)).toMatchObject({ users });
});

it("loses no field of a wish on the way to the server", async () => {
  await using server = await openFullServer();
  // Without a token no folder may be named, and an ephemeral one has a lease.
  const { workspace: _folder, ephemeral: _lease, ...wish } = fullSample(createOptionsSchema);
  await server.remote.create(LOCAL, wish, signal);
  // A default sandbox is called by the name in its path.
  const { name: _name, ...nameless } = wish;
  await server.remote.default(LOCAL, "a", nameless, signal);
  expect(server.wishes).toEqual([wish, nameless]);
});

it("loses nothing of what a sandbox from a snapshot does not have as it was", async () => {
  await using server = await openFullServer();
  const lostOf = async (options: CreateOptions) => (await server.remote.create(LOCAL, options, signal)).lost;
  for (const ephemeral of [false, true]) expect(await lostOf({ template: "a snapshot", ephemeral })).toEqual(LOST);
  expect(await lostOf({})).toBeUndefined();
});

it("loses nothing of a template, of a wish for one, and of its name on the way", async () => {
  const asked: unknown[] = [];
  const note = async (...args: readonly unknown[]) => {
    asked.push(args);
    return TEMPLATE;
  };
  await using server = await openServer(createNoSandboxes(), {
    builds: createBuilds(asked),
    list: async () => [TEMPLATE],
    info: (_principal, name) => note(name),
    make: (_principal, options) => note(options),
    share: (_principal, name, isShared) => note(name, isShared),
    remove: async (_principal, name) => void (await note(name)),
    prune: async () => (await note(), { steps: 2, bytes: 3 }),
  });
  const remote = createRemoteTemplates(server.address);
  const { image, snapshot, folder, debian, platform, ...ofDockerfile } = fullSample(templateOptionsSchema);
  const { name, description, network } = ofDockerfile;
  const wishes = [
    { name, description, network, image, platform },
    { name, snapshot },
    { name, folder },
    { name, debian },
    ofDockerfile,
  ] as readonly TemplateOptions[];
  expect(await remote.list(LOCAL)).toEqual([TEMPLATE]);
  expect(await remote.info(LOCAL, "a b/..")).toEqual(TEMPLATE);
  for (const wish of wishes) expect(await remote.make(LOCAL, wish, signal)).toEqual(TEMPLATE);
  expect(await remote.share(LOCAL, "a", true)).toEqual(TEMPLATE);
  await remote.remove(LOCAL, "a");
  expect(await remote.prune(LOCAL)).toEqual({ steps: 2, bytes: 3 });
  expect(asked).toEqual([["a b/.."], ...wishes.map((wish) => [wish]), ["a", true], ["a"], []]);
});

const { error: _, ...BUILD } = buildSchema.parse(fullSample(buildSchema));
const LOG = { text: "all of it", nextOffset: 9, state: "ready" } as const;

function createBuilds(asked: unknown[], failed?: BuildInfo): Builds {
  return {
    begin: async (_principal, options) => (asked.push(["begin", options]), BUILD),
    info: async (_principal, build) => (asked.push(["info", build]), failed ?? BUILD),
    log: async (_principal, build, wish) => (asked.push(["log", build, wish]), wish.offset === 0 ? LOG : { ...LOG, text: "" }),
    stop: async (_principal, build) => void asked.push(["stop", build]),
  };
}

it("loses nothing of a build on the way, and follows it for whoever wants its log", async () => {
  const asked: unknown[] = [];
  const no = async () => TEMPLATE;
  const templates = {
    list: async () => [],
    info: no,
    make: no,
    share: no,
    remove: async () => {},
    prune: async () => ({ steps: 0, bytes: 0 }),
  };
  const failed = { ...BUILD, state: "failed", error: { code: "COMMAND_FAILED", message: "why" } } as const;
  const options = { name: "a", dockerfile: "FROM base" };
  const build = { name: "a b/..", id: BUILD.id };
  await using server = await openServer(createNoSandboxes(), { ...templates, builds: createBuilds(asked) });
  const { builds, ...remote } = createRemoteTemplates(server.address);
  expect(await builds.begin(LOCAL, options)).toEqual(BUILD);
  expect(await builds.info(LOCAL, build)).toEqual(BUILD);
  expect(await builds.log(LOCAL, build, { offset: 7, waitMs: 3_000 }, signal)).toEqual({ ...LOG, text: "" });
  await builds.stop(LOCAL, build);
  expect(asked.splice(0)).toEqual([
    ["begin", options],
    ["info", build],
    ["log", build, { offset: 7, waitMs: 3_000 }],
    ["stop", build],
  ]);
  let said = "";
  expect(await remote.make(LOCAL, options, signal, (text) => void (said += text))).toEqual(TEMPLATE);
  expect(said).toBe("all of it");
  await using failing = await openServer(createNoSandboxes(), { ...templates, builds: createBuilds(asked, failed) });
  await expect(createRemoteTemplates(failing.address).make(LOCAL, options, signal, () => {})).rejects.toMatchObject(failed.error);
});

it("tells the client of a server without templates", async () => {
  await using server = await openServer(createNoSandboxes());
  await expect(createRemoteTemplates(server.address).list(LOCAL)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  await expect(noTemplates()).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
});

it("refuses a wish with a field that it does not know", async () => {
  await using server = await openFullServer();
  const asked = server.remote.create(LOCAL, { tomorrow: true } as CreateOptions, signal);
  await expect(asked).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(server.wishes).toEqual([]);
});

it("leaves out fields of a newer server that it does not know", async () => {
  const wire = fullSample(sandboxSchema);
  await using server = await openForeignServer({ ...wire, tomorrow: true, limits: { ...wire.limits, tomorrow: 1 } });
  expect(await server.remote.info(LOCAL, INFO.id)).toEqual(INFO);
});

it.each([
  ["a state", { state: "dreaming" }],
  ["a date", { createdAt: "yesterday" }],
  ["an id", { id: "../../x" }],
  ["a limit", { limits: { cpus: "many" } }],
])("refuses %s that it cannot understand", async (_, change) => {
  await using server = await openForeignServer({ ...fullSample(sandboxSchema), ...change });
  await expect(server.remote.info(LOCAL, INFO.id)).rejects.toMatchObject({ code: "SERVER_INCOMPATIBLE" });
});
