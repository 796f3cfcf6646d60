import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConnectionRecord } from "../../../src/network/connection-record.ts";
import type { EgressLimits } from "../../../src/network/egress/egress-options.ts";
import { createEgress } from "../../../src/network/egress/create-egress.ts";
import type { EgressService } from "../../../src/network/egress.ts";
import type { NetworkPolicy } from "../../../src/network/policy.ts";
import type { Box } from "./lab.ts";
import type { OwnListeners } from "../../../src/network/own-listeners.ts";
import { NO_LISTENERS } from "../../support/no-listeners.ts";

export interface WayOut extends AsyncDisposable {
  readonly service: EgressService;
  readonly records: readonly ConnectionRecord[];
  /** What names lead to; may be changed. */
  readonly names: Map<string, readonly string[]>;
  /** The names that were asked for outside. */
  readonly resolved: readonly string[];
}

type WayOutOptions = Partial<EgressLimits> & { readonly listeners?: OwnListeners; readonly answersClosed?: boolean };

/** Serves the way out of a box, with names of the test's own. */
export async function openWayOut(
  box: Box,
  policy: NetworkPolicy,
  { listeners = NO_LISTENERS, answersClosed = false, ...limits }: WayOutOptions = {},
): Promise<WayOut> {
  const records: ConnectionRecord[] = [];
  const names = new Map<string, readonly string[]>();
  const resolved: string[] = [];
  const egress = createEgress({
    listeners,
    record: (record) => void records.push(record),
    resolver: {
      resolve: async (host) => {
        resolved.push(host);
        return names.get(host) ?? Promise.reject(new TypeError("no such name"));
      },
    },
    limits,
  });
  const service = egress.serve({ id: "box", owner: "local", guest: box.guest }, { policy, answersClosed });
  await service.ready;
  return { service, records, names, resolved, [Symbol.asyncDispose]: () => egress[Symbol.asyncDispose]() };
}

export interface HostService extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly IncomingMessage[];
}

/** A server on the host's loopback that nobody inside should reach unasked. */
export async function openHostService(): Promise<HostService> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    response.end(`the host's own answer to ${request.headers.host}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
