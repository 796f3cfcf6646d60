import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { callDigest } from "./call-digest.ts";
import type { NamedCall } from "./call-approvals.ts";
import { StoredApprovals } from "./stored-approvals.ts";

const CALL: NamedCall = { principal: "local", tool: "mcp_memo_delete", arguments: { id: 7, at: { a: 1, b: [1, 2] } } };

async function openLab() {
  const home = await mkdtemp(join(tmpdir(), "bj-approvals-"));
  let now = Date.now();
  const open = (): StoredApprovals => new StoredApprovals(home, () => now);
  return {
    home,
    open,
    approvals: open(),
    pass: (ms: number) => void (now += ms),
    files: () => readdir(join(home, "approvals")),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

it("lets a call be made once that a person has approved, in another process too", async () => {
  await using lab = await openLab();
  expect(await lab.approvals.take(CALL)).toBe(false);
  const id = await lab.approvals.wait(CALL, "what it does");
  expect(await lab.approvals.take(CALL), "waiting is no approval").toBe(false);
  expect(await lab.open().list()).toMatchObject([{ id, tool: CALL.tool, principal: "local", shown: "what it does", isApproved: false }]);
  expect(await lab.open().give(id)).toMatchObject({ id, isApproved: true });
  const taken = await Promise.all([lab.approvals, lab.open(), lab.approvals].map((one) => one.take(CALL)));
  expect(taken.filter((isOurs) => isOurs)).toEqual([true]);
  expect(await lab.files(), "nothing is left of it").toEqual([]);
});

it("keeps what waits where this user alone reads it", async () => {
  await using lab = await openLab();
  await lab.approvals.wait(CALL, "");
  const [file = ""] = await lab.files();
  expect((await stat(join(lab.home, "approvals"))).mode & 0o777).toBe(0o700);
  expect((await stat(join(lab.home, "approvals", file))).mode & 0o777).toBe(0o600);
});

it.each<[string, Partial<NamedCall>]>([
  ["other arguments", { arguments: { id: 8, at: { a: 1, b: [1, 2] } } }],
  ["one argument more", { arguments: { id: 7, at: { a: 1, b: [1, 2] }, c: undefined, d: null } }],
  ["another order of a list", { arguments: { id: 7, at: { a: 1, b: [2, 1] } } }],
  ["another type", { arguments: { id: "7", at: { a: 1, b: [1, 2] } } }],
  ["another tool", { tool: "mcp_memo_add" }],
  ["another caller", { principal: "other" }],
])("does not let %s have the approval", async (_what, other) => {
  await using lab = await openLab();
  await lab.approvals.give(await lab.approvals.wait(CALL, ""));
  expect(await lab.approvals.take({ ...CALL, ...other })).toBe(false);
  expect(await lab.approvals.take({ ...CALL, arguments: { at: { b: [1, 2], a: 1 }, id: 7 } }), "fields have no order").toBe(true);
});

it("knows names that objects have of themselves apart", () => {
  const of = (json: string) => callDigest({ ...CALL, arguments: JSON.parse(json) });
  const ids = ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', "{}", '{"a":1}', '[["a",1]]', '{"pairs":[["a",1]]}'].map(of);
  expect(new Set(ids).size).toBe(ids.length);
});

it("forgets a call that nobody decides about, and an approval that nobody uses", async () => {
  await using lab = await openLab();
  const id = await lab.approvals.wait(CALL, "");
  lab.pass(3_600_001);
  await expect(lab.approvals.give(id)).rejects.toMatchObject({ code: "APPROVAL_NOT_FOUND" });
  expect(await lab.files()).toEqual([]);
  await lab.approvals.give(await lab.approvals.wait(CALL, ""));
  lab.pass(600_001);
  expect(await lab.approvals.take(CALL)).toBe(false);
  expect(await lab.files()).toEqual([]);
});

it("takes an approval back", async () => {
  await using lab = await openLab();
  const id = await lab.approvals.wait(CALL, "");
  await lab.approvals.give(id);
  await lab.approvals.refuse(id);
  expect(await lab.approvals.take(CALL)).toBe(false);
  for (const odd of [id, "../../etc/passwd", "", "x".repeat(10_000)])
    await expect(lab.approvals.refuse(odd)).rejects.toMatchObject({ code: "APPROVAL_NOT_FOUND" });
});

it("keeps a hundred calls, each once however often it is wanted, and no text that nobody could read", async () => {
  await using lab = await openLab();
  const call = (id: number): NamedCall => ({ ...CALL, principal: `token:${id % 5}`, arguments: { id } });
  for (let id = 0; id < 100; id += 1) await lab.approvals.wait(call(id), "");
  await lab.approvals.wait(call(0), "again");
  await expect(lab.approvals.wait({ ...call(100), principal: "another" }, "")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(await lab.approvals.list()).toHaveLength(100);
  await expect(lab.approvals.wait(call(0), "x".repeat(262_145))).rejects.toMatchObject({ code: "FORBIDDEN" });
});

it("keeps twenty calls of one caller, and leaves room for others", async () => {
  await using lab = await openLab();
  for (let id = 0; id < 20; id += 1) await lab.approvals.wait({ ...CALL, arguments: { id } }, "");
  const more = { ...CALL, arguments: { id: 20 } };
  await expect(lab.approvals.wait(more, "")).rejects.toMatchObject({
    code: "QUOTA_EXCEEDED",
    message: expect.stringMatching(/^20 calls of this caller/) as string,
  });
  await lab.approvals.wait({ ...more, principal: "another" }, "");
  await lab.approvals.wait({ ...CALL, arguments: { id: 0 } }, "again");
});

it("takes nothing for an approval that is none", async () => {
  await using lab = await openLab();
  await lab.approvals.wait(CALL, "");
  for (const text of ["", "{}", '{"until":"later"}', "\0\0"]) {
    await writeFile(join(lab.home, "approvals", `${callDigest(CALL)}.approved`), text, { mode: 0o600 });
    expect(await lab.approvals.take(CALL), text).toBe(false);
  }
});

it("knows a call by its whole digest, and gives it an id that no call can be sought for", async () => {
  await using lab = await openLab();
  expect(callDigest(CALL)).toMatch(/^[0-9a-f]{64}$/);
  const [first, again] = await Promise.all([1, 2].map(() => lab.approvals.wait(CALL, "")));
  expect(again, "one call has one id").toBe(first);
  expect(await lab.files()).toEqual([`${callDigest(CALL)}.json`]);
  await using elsewhere = await openLab();
  expect(await elsewhere.approvals.wait(CALL, "")).not.toBe(first);
});

it("approves neither of two calls that have one id", async () => {
  await using lab = await openLab();
  const id = await lab.approvals.wait(CALL, "");
  const other: NamedCall = { ...CALL, arguments: {} };
  await lab.approvals.wait(other, "");
  const path = join(lab.home, "approvals", `${callDigest(other)}.json`);
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), id }), { mode: 0o600 });
  await expect(lab.approvals.give(id)).rejects.toMatchObject({ code: "APPROVAL_NOT_FOUND" });
  expect(await Promise.all([CALL, other].map((call) => lab.approvals.take(call)))).toEqual([false, false]);
});
