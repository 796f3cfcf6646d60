import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openTestUserTools } from "../../test/support/test-user-tools.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { Edits } from "./file-edits.ts";

/** One edit of the local user's, which a quota refuses. */
async function openRefusedEdit() {
  const path = await mkdtemp(join(tmpdir(), "bj-user-tools-"));
  let looks = 0;
  const edits: Edits = {
    edits: async () => [{ owner: LOCAL.id, name: "weather" }],
    edited: async () => ((looks += 1), { kind: "changed", spec: { language: "python", code: "x = 1" } }),
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
