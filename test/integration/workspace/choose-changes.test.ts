import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import { undoApply } from "../../../src/sandbox/workspace/apply/undo-apply.ts";
import { chooseChanges } from "../../../src/sandbox/workspace/choose-changes.ts";
import { readHunks } from "../../../src/text/choose-lines.ts";
import { createTestTexts } from "../../support/test-texts.ts";
import type { WorkspaceLab } from "../../support/workspace-lab.ts";
import { openWorkspaceLab } from "../../support/workspace-lab.ts";

const { signal } = new AbortController();
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());

const numbers = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 40 }, (_, index) => `${changed[index] ?? index}\n`).join("");

/** A file of 40 lines, of which the sandbox changed the fifth and the thirtieth, and its mode. */
async function openProject() {
  const lab = openWorkspaceLab();
  lab.onHost({ f: numbers() });
  const sandbox = await lab.open();
  await lab.diff(sandbox);
  await lab.inside(sandbox, "sed -i 's/^5$/five/; s/^30$/thirty/' f; chmod 755 f");
  return { lab, sandbox, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

/** Applies the first part of `f` alone. */
async function applyFirst(lab: WorkspaceLab, sandbox: Sandbox): Promise<void> {
  const diff = await lab.diff(sandbox);
  const [first] = readHunks(diff.changes[0]?.patch ?? "");
  await lab.apply(sandbox, await chooseChanges({ sandbox, texts, signal }, diff, new Map([["f", first?.changes ?? []]])));
}

const content = (lab: WorkspaceLab): string => readFileSync(join(lab.work, "f"), "utf8");
const added = (patch = ""): readonly string[] => patch.split("\n").filter((line) => /^\+[^+]/.test(line));

describe("a part of a change that is applied", () => {
  it("is written alone; the rest, with the mode, is what the next diff shows and the next apply writes", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await applyFirst(lab, sandbox);
    expect(content(lab)).toBe(numbers({ 5: "five" }));
    const rest = await lab.diff(sandbox);
    expect(rest).toMatchObject({
      changes: [{ path: "f", kind: "modified", guest: { mode: 0o755 }, host: { mode: 0o644 } }],
      conflicts: [],
    });
    expect(added(rest.changes[0]?.patch)).toEqual(["+thirty"]);
    await lab.apply(sandbox, rest);
    expect(content(lab)).toBe(numbers({ 5: "five", 30: "thirty" }));
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
  });

  it("leaves a rest that is merged with what the host changes then, and conflicts with the same lines", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await applyFirst(lab, sandbox);
    lab.onHost({ f: numbers({ 5: "mine", 15: "mine too" }) });
    const rest = await lab.diff(sandbox);
    expect(added(rest.changes[0]?.patch)).toEqual(["+thirty"]);
    await lab.apply(sandbox, rest);
    expect(content(lab)).toBe(numbers({ 5: "mine", 15: "mine too", 30: "thirty" }));
    await lab.inside(sandbox, "sed -i 's/^five$/cinq/' f");
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], conflicts: [{ change: { path: "f" } }] });
  });

  it("may be one of a merged text, and what the host has of its own stays", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    lab.onHost({ f: numbers({ 15: "mine" }) });
    await applyFirst(lab, sandbox);
    expect(content(lab)).toBe(numbers({ 5: "five", 15: "mine" }));
    const rest = await lab.diff(sandbox);
    expect(added(rest.changes[0]?.patch)).toEqual(["+thirty"]);
    await lab.apply(sandbox, rest);
    expect(content(lab)).toBe(numbers({ 5: "five", 15: "mine", 30: "thirty" }));
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], conflicts: [] });
  });

  it("is undone, and is the sandbox's change again", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await applyFirst(lab, sandbox);
    await undoApply(lab.work, lab.home, sandbox.id);
    expect(content(lab)).toBe(numbers());
    expect(added((await lab.diff(sandbox)).changes[0]?.patch)).toEqual(["+five", "+thirty"]);
  });
});
