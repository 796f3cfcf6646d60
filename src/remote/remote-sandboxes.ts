import { createGuest } from "../runtime/guest/create-guest.ts";
import type { CreatedSandbox, CreateOptions, ListOptions, RefusalWatch, Sandbox, SandboxInfo, Sandboxes } from "../sandbox/sandbox.ts";
import type { SandboxEnd } from "../runtime/contract/run.ts";
import type { HostIsolation } from "../sandbox/runtimes.ts";
import { BelljarError } from "../errors.ts";
import {
  defaultSandboxSchema,
  environmentSchema,
  hostIsolationSchema,
  refusalsSchema,
  sandboxPageSchema,
  usageSchema,
} from "../sandbox/wire/answer-schemas.ts";
import { createdSandboxSchema, type CreatedInfo } from "../sandbox/wire/fork-schema.ts";
import { sandboxSchema } from "../sandbox/wire/sandbox-schema.ts";
import { parseAnswer } from "./server-answers.ts";
import { openLease } from "./lease.ts";
import { remoteWorkspaceBase } from "./remote-workspace-base.ts";
import { readRemoteEvents } from "./remote-events.ts";
import { remotePorts } from "./remote-ports.ts";
import { remoteSnapshots, remoteTimeLine } from "./remote-states.ts";
import type { Lease } from "./lease.ts";
import { askServer, openGuestStream } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

/**
 * The sandboxes of a server, with the errors that the server names. The server knows the caller by its token, so the principal
 * that a method is given is not sent.
 */
export function createRemoteSandboxes(address: ServerAddress): Sandboxes {
  const info = (id: string): Promise<SandboxInfo> => getInfo(address, id);
  return {
    snapshots: remoteSnapshots(address, (made) => createRemoteSandbox(address, made)),
    async create(
      _principal,
      { isConfigured: _c, isHidden: _h, secretsOf: _s, isPublicOnly: _p, networkOf: _n, hiddenSnapshot: _f, keepsReady: _k, ...options },
      signal,
    ) {
      if (options.ephemeral) return createLeased(address, options, signal);
      const answer = await askServer(address, { method: "POST", path: "/v1/sandboxes", body: options, signal });
      return toCreated(address, parseAnswer(createdSandboxSchema, answer));
    },
    async get(_principal, id) {
      return openFound(address, await info(id));
    },
    async getStarted(_principal, id, signal) {
      const found = await info(id);
      const sandbox = openFound(address, found);
      if (found.state !== "stopped") return { sandbox };
      const { endReason: reason, endedAt: at } = found;
      return { sandbox: await sandbox.start(signal), ...(reason && at && { stopped: { reason, at } }) };
    },
    getLinked: async (id) => createRemoteSandbox(address, await info(id)),
    labelsOf: async (id) => (await info(id)).metadata,
    linkedIds: async () => {
      throw new BelljarError("NOT_SUPPORTED", "A server tells its callers of their own sandboxes alone");
    },
    info: (_principal, id) => info(id),
    async list(_principal, options) {
      return parseAnswer(sandboxPageSchema, await askServer(address, { method: "GET", path: `/v1/sandboxes${toQuery(options)}` }));
    },
    events: (_principal, signal) => readRemoteEvents(address, signal),
    async default(_principal, name, wanted, signal) {
      const { wishes: _, ...options } = wanted;
      const path = `/v1/default-sandboxes/${encodeURIComponent(name)}`;
      const answer = await askServer(address, { method: "POST", path, body: options, signal });
      const { sandbox, ...made } = parseAnswer(defaultSandboxSchema, answer);
      return { ...made, sandbox: createRemoteSandbox(address, sandbox) };
    },
  };
}

/** What the server's host enforces. */
export async function fetchIsolation(address: ServerAddress): Promise<HostIsolation> {
  return parseAnswer(hostIsolationSchema, await askServer(address, { method: "GET", path: "/v1/doctor" }));
}

function openFound(address: ServerAddress, found: SandboxInfo): Sandbox {
  if (found.state !== "ended") return createRemoteSandbox(address, found);
  throw new BelljarError("SANDBOX_ENDED", `Sandbox ${found.id} has ended: ${found.endReason ?? "unknown"}`);
}

function createRemoteSandbox(address: ServerAddress, info: SandboxInfo): Sandbox {
  const { id, inside } = info;
  const path = sandboxPath(id);
  const connect = (signal: AbortSignal) => openGuestStream(address, id, signal);
  const environment = async () =>
    parseAnswer(environmentSchema, await askServer(address, { method: "GET", path: `${path}/environment` })).env;
  const askUsage = async () => parseAnswer(usageSchema, await askServer(address, { method: "GET", path: `${path}/usage` }));
  return {
    id,
    owner: info.owner,
    inside,
    timeLine: remoteTimeLine(address, path, () => createRemoteSandbox(address, info)),
    guest: createGuest(connect, { env: environment, findEnd: () => findEnd(address, id) }),
    connect,
    info: () => getInfo(address, id),
    usage: askUsage,
    knownOomKills: async () => (await askUsage()).oomKills,
    environment,
    watchRefusals: () => watchRefusals(address, path),
    async setNetwork(policy, { capped = false } = {}) {
      await askServer(address, { method: "PUT", path: `${path}/network`, body: { policy, capped } });
    },
    ...remotePorts(address, path),
    ...remoteWorkspaceBase(address, path),
    async extend(timeoutMs, action) {
      await askServer(address, { method: "POST", path: `${path}/extend`, body: { timeoutMs, ...(action && { action }) } });
    },
    async pause() {
      await askServer(address, { method: "POST", path: `${path}/pause` });
    },
    async resume() {
      await askServer(address, { method: "POST", path: `${path}/resume` });
    },
    async stop() {
      await askServer(address, { method: "POST", path: `${path}/stop` });
    },
    async start(signal) {
      const answer = await askServer(address, { method: "POST", path: `${path}/start`, signal });
      return createRemoteSandbox(address, parseAnswer(sandboxSchema, answer));
    },
    kill: () => kill(address, path),
  };
}

function toCreated(address: ServerAddress, { lost, ...info }: CreatedInfo): CreatedSandbox {
  return { ...createRemoteSandbox(address, info), ...(lost && { lost }) };
}

/** The server takes up the refusals from the first question on. */
async function watchRefusals(address: ServerAddress, path: string): Promise<RefusalWatch> {
  const ask = async () => parseAnswer(refusalsSchema, await askServer(address, { method: "POST", path: `${path}/refusals` })).lines;
  await ask();
  return { tell: ask, [Symbol.dispose]: () => undefined };
}

/** Dies with this process, as a local one does: the server kills it when the lease's connection goes. */
async function createLeased(address: ServerAddress, options: CreateOptions, signal: AbortSignal): Promise<CreatedSandbox> {
  const lease = await openLease(address, { method: "POST", path: "/v1/sandboxes", body: options, signal });
  const sandbox = toCreated(address, leasedInfo(lease));
  return {
    ...sandbox,
    async kill() {
      await sandbox.kill();
      lease.close();
    },
  };
}

/** Gives a lease back whose answer cannot be read: nobody else would. */
function leasedInfo(lease: Lease): CreatedInfo {
  try {
    return parseAnswer(createdSandboxSchema, lease.answer);
  } catch (error) {
    lease.close();
    throw error;
  }
}

/** As a local one, a sandbox that has ended by itself is as good as killed. */
async function kill(address: ServerAddress, path: string): Promise<void> {
  try {
    await askServer(address, { method: "DELETE", path });
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "SANDBOX_ENDED") throw error;
  }
}

/**
 * Undefined while it lives, and when the server cannot say: then the broken connection is what the caller is told. Rejects with
 * `UNAUTHORIZED` if the server has cut the connection because the token has expired or was revoked.
 */
async function findEnd(address: ServerAddress, id: string): Promise<SandboxEnd | undefined> {
  const info = await getInfo(address, id).catch((error: unknown) => {
    if (error instanceof BelljarError && error.code === "UNAUTHORIZED") throw tokenOver(error);
    return undefined;
  });
  return info?.endReason && { reason: info.endReason, at: info.endedAt ?? new Date(), ...(info.state === "stopped" && { kept: true }) };
}

function tokenOver(cause: BelljarError): BelljarError {
  const advice = "get a new one, such as from `belljar token create NAME` on the server's machine";
  return new BelljarError("UNAUTHORIZED", `The token has expired or was revoked, so the server cut the connection: ${advice}`, { cause });
}

async function getInfo(address: ServerAddress, id: string): Promise<SandboxInfo> {
  return parseAnswer(sandboxSchema, await askServer(address, { method: "GET", path: sandboxPath(id) }));
}

function sandboxPath(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}

function toQuery({ filter: { state = [], metadata = {} } = {}, cursor, limit }: ListOptions = {}): string {
  const query = new URLSearchParams();
  for (const one of state) query.append("state", one);
  for (const [key, value] of Object.entries(metadata)) query.append(`metadata.${key}`, value);
  if (cursor !== undefined) query.append("cursor", cursor);
  if (limit !== undefined) query.append("limit", String(limit));
  return query.size === 0 ? "" : `?${query.toString()}`;
}
