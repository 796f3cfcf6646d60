import * as z from "zod";
import { createGuest } from "../runtime/guest/create-guest.ts";
import type { CreateOptions, ListFilter, Sandbox, SandboxInfo, Sandboxes } from "../sandbox/sandbox.ts";
import type { Isolation, SandboxEnd } from "../runtime/runtime.ts";
import { BelljarError } from "../errors.ts";
import { isolation, parseAnswer, sandboxInfo, usage } from "./server-answers.ts";
import { openLease } from "./lease.ts";
import { remotePorts } from "./remote-ports.ts";
import type { Lease } from "./lease.ts";
import { askServer, openGuestStream } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

const listAnswer = z.object({ sandboxes: z.array(sandboxInfo) });
const environmentAnswer = z.object({ env: z.record(z.string(), z.string()) });
const defaultAnswer = z.object({ created: z.boolean(), sandbox: sandboxInfo });

/**
 * The sandboxes of a server, with the errors that the server names. The server knows the caller by its token, so the principal
 * that a method is given is not sent.
 */
export function createRemoteSandboxes(address: ServerAddress): Sandboxes {
  const info = (id: string): Promise<SandboxInfo> => getInfo(address, id);
  return {
    async create(_principal, options, signal) {
      if (options.ephemeral) return createLeased(address, options, signal);
      const answer = await askServer(address, { method: "POST", path: "/v1/sandboxes", body: options, signal });
      return createRemoteSandbox(address, parseAnswer(sandboxInfo, answer).id);
    },
    async get(_principal, id) {
      const found = await info(id);
      if (found.state === "ended")
        throw new BelljarError("SANDBOX_ENDED", `Sandbox ${found.id} has ended: ${found.endReason ?? "unknown"}`);
      return createRemoteSandbox(address, found.id);
    },
    getLinked: async (id) => createRemoteSandbox(address, (await info(id)).id),
    info: (_principal, id) => info(id),
    async list(_principal, filter) {
      return parseAnswer(listAnswer, await askServer(address, { method: "GET", path: `/v1/sandboxes${toQuery(filter)}` })).sandboxes;
    },
    async default(_principal, name, options, signal) {
      const path = `/v1/default-sandboxes/${encodeURIComponent(name)}`;
      const answer = await askServer(address, { method: "POST", path, body: options, signal });
      const { created, sandbox } = parseAnswer(defaultAnswer, answer);
      return { created, sandbox: createRemoteSandbox(address, sandbox.id) };
    },
  };
}

/** What the server's host enforces. */
export async function fetchIsolation(address: ServerAddress): Promise<Isolation> {
  return parseAnswer(isolation, await askServer(address, { method: "GET", path: "/v1/doctor" }));
}

function createRemoteSandbox(address: ServerAddress, id: string): Sandbox {
  const path = sandboxPath(id);
  const connect = (signal: AbortSignal) => openGuestStream(address, id, signal);
  const environment = async () =>
    parseAnswer(environmentAnswer, await askServer(address, { method: "GET", path: `${path}/environment` })).env;
  return {
    id,
    guest: createGuest(connect, { env: environment, findEnd: () => findEnd(address, id) }),
    connect,
    info: () => getInfo(address, id),
    usage: async () => parseAnswer(usage, await askServer(address, { method: "GET", path: `${path}/usage` })),
    environment,
    async setNetwork(policy, { capped = false } = {}) {
      await askServer(address, { method: "PUT", path: `${path}/network`, body: { policy, capped } });
    },
    ...remotePorts(address, path),
    async extend(timeoutMs) {
      await askServer(address, { method: "POST", path: `${path}/extend`, body: { timeoutMs } });
    },
    kill: () => kill(address, path),
  };
}

/** Dies with this process, as a local one does: the server kills it when the lease's connection goes. */
async function createLeased(address: ServerAddress, options: CreateOptions, signal: AbortSignal): Promise<Sandbox> {
  const lease = await openLease(address, { method: "POST", path: "/v1/sandboxes", body: options, signal });
  const sandbox = createRemoteSandbox(address, leasedId(lease));
  return {
    ...sandbox,
    async kill() {
      await sandbox.kill();
      lease.close();
    },
  };
}

/** Gives a lease back whose answer cannot be read: nobody else would. */
function leasedId(lease: Lease): string {
  try {
    return parseAnswer(sandboxInfo, lease.answer).id;
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

/** Undefined while it lives, and when the server cannot say: then the broken connection is what the caller is told. */
async function findEnd(address: ServerAddress, id: string): Promise<SandboxEnd | undefined> {
  const info = await getInfo(address, id).catch(() => undefined);
  return info?.endReason && { reason: info.endReason, at: info.endedAt ?? new Date() };
}

async function getInfo(address: ServerAddress, id: string): Promise<SandboxInfo> {
  return parseAnswer(sandboxInfo, await askServer(address, { method: "GET", path: sandboxPath(id) }));
}

function sandboxPath(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}

function toQuery({ state = [], metadata = {} }: ListFilter): string {
  const query = new URLSearchParams();
  for (const one of state) query.append("state", one);
  for (const [key, value] of Object.entries(metadata)) query.append(`metadata.${key}`, value);
  return query.size === 0 ? "" : `?${query.toString()}`;
}
