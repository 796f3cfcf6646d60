import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import { createOwnerGrants } from "../../gateway/auth/owner-grants.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { HttpWay } from "../../mcp/client/transport/http-way.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { openServerWay } from "../../mcp/proxy/server-way.ts";
import { ownerPrincipal } from "../../mcp/proxy/sources/owner-principal.ts";
import { upstreamOptions } from "./open-egress.ts";
import { createHomeAudit } from "./open-stack.ts";

/** How the requests of a login leave this machine. Disposing it ends them, and writes their lines of the audit. */
export interface LoginWay extends AsyncDisposable {
  /** Undefined: each one may. */
  readonly way: HttpWay | undefined;
}

/** The way of a server of the hub, as the hub itself asks it. Of an owner who may not have the server any more each request is refused. */
export async function openLoginWay(config: Config, owner: string, server: HubServer): Promise<LoginWay> {
  const principalOf = ownerPrincipal(createOwnerGrants({ tokens: createTokenStore(config.home) }));
  const principal = await principalOf(owner, server).catch(unlessForbidden);
  if (principal instanceof BelljarError) return { way: refusing(principal), [Symbol.asyncDispose]: async () => undefined };
  const audit = createHomeAudit(config);
  const record = (client: object): void => audit.recordConnection({ ...client, sandbox: "" });
  const way = openServerWay({ ...(await upstreamOptions(config)), record }, server, { owner, principal });
  return {
    way,
    async [Symbol.asyncDispose]() {
      way?.[Symbol.dispose]();
      await audit.close();
    },
  };
}

function unlessForbidden(cause: unknown): BelljarError {
  if (cause instanceof BelljarError && cause.code === "FORBIDDEN") return cause;
  throw cause;
}

function refusing(problem: BelljarError): HttpWay {
  return {
    open() {
      throw problem;
    },
  };
}
