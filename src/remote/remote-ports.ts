import type { Sandbox, SandboxPorts } from "../sandbox/sandbox.ts";
import { portLinkSchema, portsSchema, removedSchema } from "../sandbox/wire/answer-schemas.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

/** The ports of a server's sandbox; `path` is the sandbox's own. */
export function remotePorts(address: ServerAddress, path: string): Pick<Sandbox, "ports" | "portLinks" | "registerPort" | "removePort"> {
  const ask = async (): Promise<SandboxPorts> =>
    parseAnswer(portsSchema, await askServer(address, { method: "GET", path: `${path}/ports` }));
  return {
    ports: ask,
    portLinks: async () => (await ask()).links,
    async registerPort(port, access, expiresAt) {
      const body = { port, access, ...(expiresAt && { expiresAt }) };
      return parseAnswer(portLinkSchema, await askServer(address, { method: "POST", path: `${path}/ports`, body }));
    },
    async removePort(port) {
      return parseAnswer(removedSchema, await askServer(address, { method: "DELETE", path: `${path}/ports/${port}` })).removed;
    },
  };
}
