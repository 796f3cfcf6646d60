import { readFile } from "node:fs/promises";
import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import type { ConnectionRecord } from "../../network/connection-record.ts";
import { createEgress } from "../../network/egress/create-egress.ts";
import type { EgressLimits, EgressOptions } from "../../network/egress/egress-options.ts";
import { DEFAULT_LIMITS } from "../../network/egress/egress-options.ts";
import { createDnsResolver } from "../../network/egress/resolver.ts";
import type { Egress } from "../../network/egress.ts";
import { openListeners } from "./open-listeners.ts";

/** Receives connections, and problems in words. */
export interface EgressEars {
  readonly record: (connection: ConnectionRecord) => void;
  readonly report: (problem: string) => void;
}

/** Opens the way out of the home's sandboxes, with the limits of the configuration. The caller disposes it. */
export async function openEgress(config: Config, { record, report }: EgressEars): Promise<Egress> {
  return createEgress({
    ...(await upstreamOptions(config)),
    onFault: (error, sandbox) =>
      report(
        `A connection of sandbox ${sandbox} failed inside Belljar: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      ),
    record: (connection) => record({ ...connection, durationMs: Math.round(connection.durationMs * 1_000) / 1_000 }),
  });
}

/** What all that Belljar lets out has in common. */
export async function upstreamOptions(
  config: Config,
): Promise<Pick<EgressOptions, "listeners" | "resolver" | "upstreamCa"> & { readonly limits: EgressLimits }> {
  const { network } = config;
  const { resolvers, certificates } = network;
  return {
    listeners: openListeners(config),
    limits: toLimits(network),
    ...(resolvers && { resolver: createDnsResolver(resolvers) }),
    ...(certificates !== undefined && { upstreamCa: [await readCertificates(certificates)] }),
  };
}

export function toLimits(network: Config["network"]): EgressLimits {
  return {
    ...DEFAULT_LIMITS,
    sandbox: {
      connections: network.connections,
      connectionsPerSecond: network.connectionsPerSecond,
      bytesPerDay: network.bytesPerDay,
    },
    owner: {
      connections: network.ownerConnections,
      connectionsPerSecond: network.ownerConnectionsPerSecond,
      bytesPerDay: network.ownerBytesPerDay,
    },
    idleMs: network.idleMs,
    dialMs: network.dialMs,
  };
}

async function readCertificates(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot read network.certificates, ${path}: check that the file exists and is readable`, {
      cause,
    });
  }
}
