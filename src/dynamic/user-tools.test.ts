import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openTestUserTools } from "../../test/support/test-user-tools.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";

/** One edit of the local user's, which a quota refuses. */
async function openRefusedEdit() {
  const path = await mkdtemp(join(tmpdir(), "bj-user-tools-"));
  let looks = 0;
  const edits = {
    edits: async () => [{ owner: LOCAL.id, name: "weather" }],
    edited: async () => ((looks += 1), { kind: "changed", spec: { language: "python", code: "x = 1" } } as const),
    placeOf: () => path,
    onEdit: () => () => undefined,
  };
  const create = (): Promise<never> => Promise.reject(new BelljarError("QUOTA_EXCEEDED", "no room"));
  let report = (_problem: string): void => undefined;
  const refused = new Promise<string>((resolve) => (report = resolve));
  const tools = await openTestUserTools({ path, edits, sandboxes: { create } as never, report: (problem) => report(problem) });
  tools.followEdits();
  expect(await refused).toContain("no room");
  const close = async (): Promise<void> => {
    await tools[Symbol.asyncDispose]();
    await rm(path, { recursive: true });
  };
  return { tools, looks: () => looks, [Symbol.asyncDispose]: close };
}

it("tries a refused edit again with the first page of its owner's list", async () => {
  const edit = await openRefusedEdit();
  await edit.tools.list(LOCAL);
  await edit[Symbol.asyncDispose]();
  expect(edit.looks()).toBe(2);
});

it("tries it again with no other page, and with nobody else's list", async () => {
  const edit = await openRefusedEdit();
  await edit.tools.list(LOCAL, { cursor: Buffer.from("a").toString("base64url") });
  await edit.tools.list({ id: "token:other", name: "other" });
  await edit[Symbol.asyncDispose]();
  expect(edit.looks()).toBe(1);
});

it("adds no tool with limits that the host cannot enforce, before anything of it runs", async () => {
  const path = await mkdtemp(join(tmpdir(), "bj-user-tools-"));
  const asked: unknown[] = [];
  const assertLimits = async (limits: object): Promise<void> => {
    asked.push(limits);
    throw new BelljarError("LIMIT_UNENFORCEABLE", "no memory here");
  };
  const create = (): Promise<never> => Promise.reject(new Error("a sandbox was made"));
  const tools = await openTestUserTools({ path, sandboxes: { create } as never, assertLimits });
  const spec = { language: "shell", code: "true", limits: { memoryBytes: 2 ** 28 } } as const;
  const adding = tools.add(LOCAL, { name: "large", spec }, new AbortController().signal);
  await expect(adding).rejects.toMatchObject({ code: "LIMIT_UNENFORCEABLE" });
  expect(asked).toEqual([spec.limits]);
  await tools[Symbol.asyncDispose]();
  await rm(path, { recursive: true });
});
