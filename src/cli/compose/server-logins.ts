import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import type { HubLogins } from "../../mcp/proxy/relay/upstream-login.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";

/**
 * The logins of the hub. Servers that a person at the machine named use those of `client login`. What came over HTTP does not: whoever reaches
 * the port of loopback could name a server that the person has logged in to, and use it.
 */
export function serverLogins({ home }: Pick<Config, "home">): HubLogins {
  return (owner, { file, isOfNetwork }) => ({
    folder: owner === LOCAL.id && !isOfNetwork ? clientLogins(home) : join(home, "servers", "logins", folderOf(owner)),
    advice: (server) => {
      const command = `run \`belljar server login ${server}${ownerOption(owner)}${fileOption(file)}\` where Belljar runs`;
      return isOfNetwork ? `${command}, or begin one with POST /v1/servers/${encodeURIComponent(server)}/login` : command;
    },
  });
}

/** The logins of the person at this machine. */
export function clientLogins(home: string): string {
  return join(home, "mcp-logins");
}

/** An id may be any text. */
function folderOf(owner: string): string {
  return createHash("sha256").update(owner).digest("hex").slice(0, 32);
}

function ownerOption(owner: string): string {
  return owner === LOCAL.id ? "" : ` --owner ${owner}`;
}

function fileOption(file: string | undefined): string {
  return file === undefined ? "" : ` --mcp-config ${resolve(file)}`;
}
