import { expect, it } from "vitest";
import { askBox } from "../../../test/support/mcp-box.ts";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { BelljarError, type ErrorCode } from "../../errors.ts";
import { createGateway } from "../gateway.ts";

async function openServer(life: Partial<UnitLife>) {
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: createNoSandboxes(),
    userTools: async () => life as UnitLife,
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new Error("nobody asks")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  return { url: String(await gateway.listen()), [Symbol.asyncDispose]: () => gateway.close(0) };
}

const refusing = (code: ErrorCode) => (): Promise<never> => Promise.reject(new BelljarError(code, "because"));

it.each([
  ["TOOL_STORE_UNAVAILABLE", 503, 2],
  ["QUOTA_EXCEEDED", 429, 2],
  ["TOOL_INVALID", 200, 2],
  ["TOOL_NAME_TAKEN", 200, 1],
] as const)("tells %s with the status %i", async (code, status, result) => {
  await using server = await openServer({ add: refusing(code), remove: refusing(code) });
  expect(await askBox(server.url, "add_mcp_tool", "one", { code: "x = 1" })).toMatchObject({ status, result, error: "because" });
  expect(await askBox(server.url, "remove_mcp_tool", "one")).toMatchObject({ status, result, error: "because" });
});

it("reads no list to remove what has exactly the name", async () => {
  const removed: string[] = [];
  const remove: UnitLife["remove"] = async (_principal, name) => void removed.push(name);
  await using server = await openServer({ remove, list: refusing("TOOL_STORE_UNAVAILABLE") });
  expect(await askBox(server.url, "remove_mcp_tool", "one")).toMatchObject({ status: 200, result: 0 });
  expect(removed).toEqual(["one"]);
});
