import { createGateway } from "../../../src/gateway/gateway.ts";
import { createNoSandboxes } from "../no-sandboxes.ts";
import { ASKING_TOOLS } from "./asking-tools.ts";
import { CONTENT_TOOLS } from "./content-tools.ts";
import { createFixtureDoor, text } from "./fixture-door.ts";
import type { FixtureTool } from "./fixture-door.ts";
import { createFixturePrompts } from "./fixture-prompts.ts";
import { fixtureResources } from "./fixture-resources.ts";

/** What the conformance suite wants to find, behind the gateway that Belljar has. */
export async function openConformanceServer(): Promise<{ readonly url: URL } & AsyncDisposable> {
  const prompts = createFixturePrompts();
  const triggers: readonly FixtureTool[] = [
    { name: "test_trigger_tool_change", run: () => (tools.changed(), text("changed")) },
    { name: "test_trigger_prompt_change", run: () => (prompts.changed(), text("changed")) },
  ];
  const tools = createFixtureDoor([...CONTENT_TOOLS, ...ASKING_TOOLS, ...triggers]);
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    tools,
    prompts,
    resources: fixtureResources,
    isolation: () => Promise.reject(new Error("The suite asks for no sandbox")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = new URL("/mcp", await gateway.listen());
  return { url, [Symbol.asyncDispose]: () => gateway.close(0) };
}
