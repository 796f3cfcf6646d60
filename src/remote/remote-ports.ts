import * as z from "zod";
import type { Sandbox, SandboxPorts } from "../sandbox/sandbox.ts";
import { parseAnswer } from "./server-answers.ts";
import { askServer } from "./server-connection.ts";
import type { ServerAddress } from "./server-connection.ts";

const portLink = z.object({
  sandbox: z.string(),
  port: z.number(),
  access: z.enum(["token", "public"]),
  token: z.string().optional(),
  createdAt: z.coerce.date(),
});

const ports = z.object({
  listening: z.array(z.object({ port: z.number(), address: z.string(), uid: z.number() })),
  links: z.array(portLink),
});

/** The ports of a server's sandbox; `path` is the sandbox's own. */
export function remotePorts(address: ServerAddress, path: string): Pick<Sandbox, "ports" | "portLinks" | "registerPort"> {
  const ask = async (): Promise<SandboxPorts> => parseAnswer(ports, await askServer(address, { method: "GET", path: `${path}/ports` }));
  return {
    ports: ask,
    portLinks: async () => (await ask()).links,
    async registerPort(port, access) {
      return parseAnswer(portLink, await askServer(address, { method: "POST", path: `${path}/ports`, body: { port, access } }));
    },
  };
}
