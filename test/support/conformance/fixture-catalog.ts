import { createCallQuota } from "../../../src/catalog/call-quota.ts";
import type { AuditedCall } from "../../../src/audit/audit.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import type { JsonSchema } from "../../../src/catalog/tool-schema.ts";
import type { Tool, ToolContext, ToolResult } from "../../../src/catalog/tool.ts";
import { createNoSandboxes } from "../no-sandboxes.ts";

/** A tool that the suite calls by its name. */
export interface FixtureTool {
  readonly name: string;
  readonly schema?: JsonSchema;
  run(context: ToolContext, args: Readonly<Record<string, unknown>>): Promise<ToolResult>;
}

export interface FixtureCatalog extends Catalog {
  /** Every call that came through, with who made it. */
  readonly audited: readonly AuditedCall[];
  /** Tells that the list has changed. */
  changed(): void;
}

/** The suite's tools behind the catalog's door, with a quota and an audit. */
export function createFixtureCatalog(fixtures: readonly FixtureTool[]): FixtureCatalog {
  const listeners = new Set<() => void>();
  const audited: AuditedCall[] = [];
  const tools = fixtures.map(toTool);
  const source = {
    list: () => tools,
    find: (_caller: unknown, name: string) => tools.find((tool) => tool.name === name),
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const catalog = createCatalog({
    sources: [source],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    quota: createCallQuota(),
    audit: { assertWritable: () => undefined, record: (call) => void audited.push(call), written: async () => undefined },
  });
  return { ...catalog, audited, changed: () => listeners.forEach((listener) => listener()) };
}

function toTool(fixture: FixtureTool): Tool {
  const { name, schema = { type: "object" } } = fixture;
  return {
    name,
    title: name,
    description: `Fixture ${name}`,
    toolset: "test",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: { schema, parse: (value) => ({ value }) },
    run: (context, args) => fixture.run(context, args as Readonly<Record<string, unknown>>),
  };
}
