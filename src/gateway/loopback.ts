import { isIPv4 } from "node:net";
import { BelljarError } from "../errors.ts";

/** Only this machine reaches such an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Throws `CONFIG_INVALID`: without tokens, whoever reaches the port may run programs here. */
export function assertListenable(host: string, hasTokens: boolean): void {
  if (isLoopback(host) || hasTokens) return;
  throw new BelljarError(
    "CONFIG_INVALID",
    `Refusing to listen on ${host}: without tokens anybody who reaches it could run programs. ` +
      "Make one with `belljar token create NAME`, name an OAuth issuer (oauth.issuer), or listen on 127.0.0.1 and reach it through an SSH tunnel",
  );
}
