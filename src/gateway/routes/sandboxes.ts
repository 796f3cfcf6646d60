import { BelljarError } from "../../errors.ts";
import type { CreateOptions, Principal, Sandboxes } from "../../sandbox/sandbox.ts";
import type { Callers } from "../auth/callers.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { goneSignal } from "../gone-signal.ts";
import { parseRequest } from "../parse-request.ts";
import { leaseSandbox } from "./sandbox-lease.ts";
import { createBody, defaultBody, extendBody, idParams, listQuery, nameParams } from "./sandbox-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");

export interface SandboxRoutesOptions {
  readonly sandboxes: Sandboxes;
  readonly callers: Callers;
  readonly log: GatewayLog;
}

/** Sandboxes for the CLI and for scripts. Dates are ISO 8601; the fields are those of the domain's types. */
export function sandboxRoutes({ sandboxes, callers, log }: SandboxRoutesOptions): RouteGroup {
  return (routes) => {
    routes.post("/v1/sandboxes", CHANGES, async (request, reply) => {
      const caller = callers.of(request.raw);
      const options = assertMayShow(caller, parseRequest(createBody, request.body ?? {}));
      const sandbox = await sandboxes.create(caller, options, goneSignal(reply));
      if (options.ephemeral) return leaseSandbox(sandbox, reply, log);
      return reply.code(201).send(await sandbox.info());
    });
    routes.post("/v1/default-sandboxes/:name", CHANGES, async (request, reply) => {
      const { name } = parseRequest(nameParams, request.params);
      const caller = callers.of(request.raw);
      const options = assertMayShow(caller, parseRequest(defaultBody, request.body ?? {}));
      const { sandbox, created } = await sandboxes.default(caller, name, options, goneSignal(reply));
      return { created, sandbox: await sandbox.info() };
    });
    routes.get("/v1/sandboxes", READS, async (request) => ({
      sandboxes: await sandboxes.list(callers.of(request.raw), parseRequest(listQuery, request.query)),
    }));
    routes.get("/v1/sandboxes/:id", READS, async (request) => sandboxes.info(callers.of(request.raw), idOf(request)));
    routes.delete("/v1/sandboxes/:id", CHANGES, async (request, reply) => {
      await (await sandboxes.get(callers.of(request.raw), idOf(request))).kill();
      return reply.code(204).send();
    });
    routes.get("/v1/sandboxes/:id/usage", READS, async (request) => (await sandboxes.get(callers.of(request.raw), idOf(request))).usage());
    routes.post("/v1/sandboxes/:id/extend", CHANGES, async (request, reply) => {
      const { timeoutMs } = parseRequest(extendBody, request.body);
      await (await sandboxes.get(callers.of(request.raw), idOf(request))).extend(timeoutMs);
      return reply.code(204).send();
    });
  };
}

/** Every user of this machine reaches a port on loopback, and a workspace shows a folder with this process's rights. */
function assertMayShow<Options extends CreateOptions>({ grants }: Principal, options: Options): Options {
  if (!options.workspace || grants) return options;
  const advice = `name the workspace when the server starts (belljar serve --workspace DIR), or use a token with the scope workspace:${options.workspace.path}`;
  throw new BelljarError("FORBIDDEN", `A caller without a token may show its sandboxes no folder of the host: ${advice}`);
}

function idOf(request: { readonly params: unknown }): string {
  return parseRequest(idParams, request.params).id;
}
