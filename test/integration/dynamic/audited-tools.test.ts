import { expect, it } from "vitest";
import type { AuditedCall } from "../../../src/audit/audit.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { openToolsLab } from "../../support/tools-lab.ts";

const OTHER: Principal = { id: "other", name: "other" };
const HOST = `export default defineTool({ description: "", run: async () => (await import("node:os")).hostname() });`;

it("names the owner, the unit, the version and the sandbox of a call", async () => {
  const calls: AuditedCall[] = [];
  await using lab = await openToolsLab({ record: (call) => void calls.push(call) });
  await lab.add(HOST, { name: "hosts", language: "javascript" });
  await lab.tools.share(LOCAL, "hosts", true);
  await lab.tools.update(LOCAL, { name: "hosts", spec: { language: "javascript", code: `${HOST}\n` } }, AbortSignal.timeout(60_000), {
    publish: true,
  });
  const sandboxes: (string | undefined)[] = [];
  for (const principal of [LOCAL, OTHER]) {
    await lab.call("hosts", {}, { principal });
    const line = calls.at(-1);
    expect(line).toMatchObject({
      principal: principal.id,
      tool: "hosts",
      code: { owner: "local", unit: "hosts", version: 2 },
      outcome: "ok",
    });
    sandboxes.push(line?.sandbox);
  }
  expect(sandboxes).toEqual([expect.stringMatching(/^[a-z0-9]{20}$/), expect.stringMatching(/^[a-z0-9]{20}$/)]);
  expect(new Set(sandboxes).size).toBe(2);
  const small: Principal = { ...OTHER, grants: { limits: { memoryBytes: 1 } } };
  expect(await lab.call("hosts", {}, { principal: small })).toMatchObject({ isError: true });
  const { code, sandbox } = calls.at(-1) ?? {};
  expect([code, sandbox], "of one without a sandbox too").toEqual([{ owner: "local", unit: "hosts", version: 2 }, undefined]);
});
