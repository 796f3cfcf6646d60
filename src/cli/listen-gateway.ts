import type { Config } from "../config/config.ts";
import { BelljarError } from "../errors.ts";
import type { Gateway } from "../gateway/gateway.ts";

/** Rejects with `CONFIG_INVALID` for an address or a port that cannot be had. */
export async function listenGateway(gateway: Gateway, config: Config): Promise<URL> {
  try {
    return await gateway.listen();
  } catch (cause) {
    const { host } = config;
    const port = portOf(cause) ?? config.port;
    if (port !== config.port && port !== config.adminPort)
      throw new BelljarError("CONFIG_INVALID", `Port ${port} on localhost cannot be had, which --e2b-debug needs: ${String(cause)}`, {
        cause,
      });
    const option = port === config.port ? "--port" : "--admin-port";
    const problem = {
      EADDRINUSE: `Port ${port} on ${host} is in use, perhaps by another belljar serve: choose another with ${option} N, or ${option} 0 for a free one`,
      EACCES: `Port ${port} may not be used by this user: choose one above 1023 with ${option} N`,
      EADDRNOTAVAIL: `This machine has no address ${host}: choose another with --host`,
      ENOTFOUND: `The host name ${host} is not known: choose another with --host`,
    }[(cause as NodeJS.ErrnoException).code ?? ""];
    if (problem === undefined) throw cause;
    throw new BelljarError("CONFIG_INVALID", problem, { cause });
  }
}

/** The system's error names the port that could not be had. */
function portOf(cause: unknown): number | undefined {
  const { port } = cause as { readonly port?: unknown };
  return typeof port === "number" ? port : undefined;
}
