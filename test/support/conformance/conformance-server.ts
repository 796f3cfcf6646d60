import type { McpHttpServer } from "../mcp-http-server.ts";
import { openMcpHttpServer } from "../mcp-http-server.ts";
import { ASKING_TOOLS } from "./asking-tools.ts";
import { CONTENT_TOOLS } from "./content-tools.ts";
import { createFixtureDoor, text } from "./fixture-door.ts";
import type { FixtureTool } from "./fixture-door.ts";
import { createFixturePrompts } from "./fixture-prompts.ts";
import { fixtureResources } from "./fixture-resources.ts";

/** What the conformance suite wants to find, behind the server that Belljar has. */
export function openConformanceServer(): Promise<McpHttpServer> {
  const prompts = createFixturePrompts();
  const triggers: readonly FixtureTool[] = [
    { name: "test_trigger_tool_change", run: () => (tools.changed(), text("changed")) },
    { name: "test_trigger_prompt_change", run: () => (prompts.changed(), text("changed")) },
  ];
  const tools = createFixtureDoor([...CONTENT_TOOLS, ...ASKING_TOOLS, ...triggers]);
  return openMcpHttpServer({ tools, prompts, resources: fixtureResources });
}
