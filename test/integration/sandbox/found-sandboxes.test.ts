import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DefaultClaims } from "../../../src/sandbox/default-claims.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import type { ListFilter, Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { listed } from "../../support/listed.ts";
import { useFakeHome } from "../../support/fake-home.ts";

const OTHER: Principal = { id: "other", name: "other" };
const signal = new AbortController().signal;
const at = useFakeHome();
const { openHome, folderOf, rewriteRecord } = at;

const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

describe("list", () => {
  it("filters by state and metadata, newest first", async () => {
    await using sandboxes = openHome();
    const ids: string[] = [];
    for (const job of ["a", "b", "a"]) ids.push((await sandboxes.create(LOCAL, { metadata: { job } }, signal)).id);
    ids.forEach((id, index) => rewriteRecord(id, { createdAt: new Date(Date.now() - 1000 + index) }));
    await using reader = openHome();
    await (await sandboxes.get(LOCAL, ids[2] ?? "")).kill();
    const list = async (filter: ListFilter) => (await listed(reader, LOCAL, filter)).map(({ id }) => ids.indexOf(id));
    expect(await list({})).toEqual([2, 1, 0]);
    expect(await list({ metadata: { job: "a" } })).toEqual([2, 0]);
    expect(await list({ metadata: { job: "a" }, state: ["running"] })).toEqual([0]);
    expect(await list({ metadata: { toString: "a" } })).toEqual([]);
  });

  it("answers no more entries than listMax", async () => {
    await using sandboxes = openHome({ config: { listMax: 1 } });
    for (let made = 0; made < 2; made += 1) await sandboxes.create(LOCAL, {}, signal);
    expect(await listed(sandboxes, LOCAL)).toHaveLength(1);
  });

  it.each([
    ["no JSON", "{"],
    ["of another shape", JSON.stringify({ version: 1 })],
    ["of another version", JSON.stringify({ version: 2 })],
  ])("goes on past a record that is %s, and reports it by name, once", async (_, text) => {
    await using sandboxes = openHome();
    const good = await sandboxes.create(LOCAL, {}, signal);
    const bad = createSandboxId();
    mkdirSync(folderOf(bad));
    writeFileSync(join(folderOf(bad), "sandbox.json"), text);
    for (let round = 0; round < 2; round += 1) expect(await listed(sandboxes, LOCAL)).toMatchObject([{ id: good.id }]);
    expect(at.problems).toEqual([expect.stringContaining(bad)]);
    await expect(sandboxes.get(LOCAL, bad)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });
});

describe("default", () => {
  it("is made on first use and found afterwards, by every process", async () => {
    await using one = openHome();
    await using two = openHome();
    const first = await one.default(LOCAL, "work", {}, signal);
    const again = await one.default(LOCAL, "work", {}, signal);
    const there = await two.default(LOCAL, "work", {}, signal);
    expect([first.created, again.created, there.created]).toEqual([true, false, false]);
    expect([again.sandbox.id, there.sandbox.id]).toEqual([first.sandbox.id, first.sandbox.id]);
    expect((await first.sandbox.info()).defaultName).toBe("work");
  });

  it("is another one for another name and another owner", async () => {
    await using sandboxes = openHome();
    const made = await Promise.all([
      sandboxes.default(LOCAL, "a", {}, signal),
      sandboxes.default(LOCAL, "b", {}, signal),
      sandboxes.default(OTHER, "a", {}, signal),
    ]);
    expect(new Set(made.map(({ sandbox }) => sandbox.id)).size).toBe(3);
  });

  it("is never another owner's sandbox, whatever the claim names", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    expect(await new DefaultClaims(at.home).take(OTHER.id, "default", { number: 1, id })).toBe(true);
    const { sandbox, created } = await sandboxes.default(OTHER, "default", {}, signal);
    expect(created).toBe(true);
    expect(sandbox.id).not.toBe(id);
    expect((await listed(sandboxes, LOCAL)).map((one) => one.id)).toEqual([id]);
  });

  it("is one sandbox for many that ask at once, in several processes", async () => {
    const homes = Array.from({ length: 4 }, () => openHome());
    const asked = homes.flatMap((one) => [1, 2, 3].map(() => one.default(LOCAL, "work", {}, signal)));
    const got = await Promise.all(asked);
    expect(new Set(got.map(({ sandbox }) => sandbox.id)).size).toBe(1);
    expect(got.filter(({ created }) => created)).toHaveLength(1);
    expect((await homes[0]?.list(LOCAL, { filter: { state: ["running"] } }))?.sandboxes).toHaveLength(1);
    await Promise.all(homes.map((one) => one[Symbol.asyncDispose]()));
  });

  it("is made anew when it has ended, once, however many ask", async () => {
    const homes = Array.from({ length: 3 }, () => openHome());
    const ids = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      const got = await Promise.all(homes.map((one) => one.default(LOCAL, "work", {}, signal)));
      expect(got.filter(({ created }) => created)).toHaveLength(1);
      ids.add(got[0]?.sandbox.id ?? "");
      await got[0]?.sandbox.kill();
    }
    expect(ids.size).toBe(5);
    expect(readdirSync(join(at.home, "defaults")).flatMap((name) => readdirSync(join(at.home, "defaults", name)))).toEqual([
      "sandbox.5.json",
    ]);
    await Promise.all(homes.map((one) => one[Symbol.asyncDispose]()));
  });

  it("gets its full time again from a call once a tenth of it has passed", async () => {
    await using sandboxes = openHome();
    const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
    await sandbox.extend(3_000_000);
    await sandboxes.default(LOCAL, "work", {}, signal);
    expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  });

  it("never loses time by a call", async () => {
    await using one = openHome();
    const { sandbox } = await one.default(LOCAL, "work", {}, signal);
    await sandbox.extend(50_000_000);
    rewriteRecord(sandbox.id, { deadline: new Date(0) });
    await using two = openHome();
    await two.default(LOCAL, "work", {}, signal);
    expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 40_000_000);
  });

  it("refuses a caller that names another workspace", async () => {
    const [one, two] = ["one", "two"].map((name) => mkdtempSync(join(tmpdir(), `belljar-${name}-`)));
    await using sandboxes = openHome();
    await sandboxes.default(LOCAL, "work", { workspace: { path: one ?? "", mode: "copy" } }, signal);
    const other = sandboxes.default(LOCAL, "work", { workspace: { path: two ?? "", mode: "copy" } }, signal);
    await expect(other).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    for (const path of [one, two]) rmSync(path ?? "", { recursive: true });
  });
});
