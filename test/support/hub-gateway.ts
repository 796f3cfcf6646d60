import { createGateway } from "../../src/gateway/gateway.ts";
import type { HubLab } from "./hub-lab.ts";
import { createNoSandboxes } from "./no-sandboxes.ts";

/** A lab's hub, and nothing else, behind Belljar's gateway. */
export async function openHubGateway({ catalog, doors }: Pick<HubLab, "catalog" | "doors">) {
  const problems: unknown[] = [];
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools: catalog,
    ...doors,
    isolation: () => Promise.reject(new Error("Nobody asks for a sandbox")),
    tokens: [],
    version: "1.2.3",
    log: { error: (...problem) => void problems.push(problem) },
  });
  const url = new URL("/mcp", await gateway.listen());
  return { url, problems, [Symbol.asyncDispose]: () => gateway.close(0) };
}
