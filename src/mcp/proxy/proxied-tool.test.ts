import { expect, it } from "vitest";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import { proxiedTool } from "./proxied-tool.ts";

const schemas: Pick<JsonSchemas, "readLater"> = { readLater: () => ({ schema: { type: "object" }, parse: (value) => ({ value }) }) };

it.each([
  [{}, "destructive", true],
  [{ destructiveHint: true }, "destructive", true],
  [{ destructiveHint: false }, "destructive", undefined],
  [{ readOnlyHint: true }, "destructive", undefined],
  [{ readOnlyHint: false, idempotentHint: true }, "destructive", true],
  [{ readOnlyHint: true }, "always", true],
  [{ destructiveHint: true }, "never", undefined],
] as const)("with the hints %j and approve: %j needs approval: %s", (annotations, approve, needsApproval) => {
  const tool = proxiedTool({
    name: "mcp_memo_add",
    server: "memo",
    owner: "local",
    shown: "add",
    definition: { name: "create", inputSchema: { type: "object" }, annotations },
    beside: undefined,
    relink: () => (uri) => uri,
    approve,
    schemas: schemas as JsonSchemas,
    call: () => expect.unreachable(),
  });
  expect(tool.needsApproval).toBe(needsApproval);
  expect(tool.from).toEqual({ server: "memo", tool: "add" });
});
