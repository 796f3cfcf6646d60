import { isIPv6 } from "node:net";
import { openOnce } from "../../async/open-once.ts";
import type { Config } from "../../config/config.ts";
import type { PortListener } from "../../network/ports/port-listener.ts";
import type { Stack } from "./open-stack.ts";
import type { Log } from "../log.ts";

/** The origin of links to ports, for a process whose tools create links. Disposing it closes its listener. */
export interface PortOrigin extends AsyncDisposable {
  origin(): Promise<URL>;
}

/** Uses the server of the configuration. Without one, opens a listener in this process for the first link. */
export function createPortOrigin({ config, sandboxes }: Pick<Stack, "config" | "sandboxes">, log: Log): PortOrigin {
  const listener = openOnce(() => openListener({ config, sandboxes }, log));
  return {
    async origin() {
      if (config.url !== undefined) return new URL(config.url);
      return (await listener()).origin;
    },
    async [Symbol.asyncDispose]() {
      await (await listener.current())?.[Symbol.asyncDispose]();
    },
  };
}

/** Loaded lazily, because it needs the HTTP server. */
async function openListener({ config, sandboxes }: Pick<Stack, "config" | "sandboxes">, log: Log): Promise<PortListener> {
  const [{ openPortListener }, { findPortSandbox }, { openListeners }] = await Promise.all([
    import("../../network/ports/port-listener.ts"),
    import("../../sandbox/port-sandbox.ts"),
    import("./open-listeners.ts"),
  ]);
  const onFailure = (err: unknown, requestId: string): void => log.error({ err, requestId }, "A request for a port failed inside Belljar");
  return openPortListener({ find: findPortSandbox(sandboxes), listeners: openListeners(config), onFailure });
}

/** Returns the origin of the configured server, even if it does not run. */
export function serverOrigin({ url, host, port }: Pick<Config, "url" | "host" | "port">): URL {
  if (url !== undefined) return new URL(url);
  if (host === "0.0.0.0" || host === "::") return new URL(`http://127.0.0.1:${port}`);
  return new URL(`http://${isIPv6(host) ? `[${host}]` : host}:${port}`);
}
