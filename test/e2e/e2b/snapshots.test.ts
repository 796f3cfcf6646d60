import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { openE2bInside } from "../../support/e2b-inside.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";

type Snapshots = readonly { readonly snapshotId: string; readonly names: readonly string[] }[];

async function listed(lab: E2bLab, opts: NonNullable<Parameters<typeof Sandbox.listSnapshots>[0]> = {}): Promise<Snapshots> {
  const paginator = Sandbox.listSnapshots({ ...lab.options, limit: 1, ...opts });
  const all = [];
  while (paginator.hasNext) all.push(...(await paginator.nextItems()));
  return all;
}

it("freezes, lists, starts from and forks sandboxes for E2B's SDK", async () => {
  await using lab = await openE2bLab();
  await using inside = await openE2bInside(lab);
  const sandbox = await Sandbox.create({ ...lab.options, metadata: { job: "7" }, network: { denyOut: ["0.0.0.0/0"] } });
  const id = sandbox.sandboxId;
  await inside.run(id, "echo one > ~/file");
  const unnamed = await sandbox.createSnapshot();
  expect(unnamed).toEqual({ snapshotId: expect.stringMatching(/^[a-z0-9]{20}:default$/) as string, names: [] });
  const named = await sandbox.createSnapshot({ name: "nightly" });
  expect(named).toEqual({ snapshotId: "nightly:default", names: ["nightly"] });
  const tagged = await sandbox.createSnapshot({ name: "nightly:v1" });
  expect(tagged).toEqual({ snapshotId: "nightly:v1", names: ["nightly"] });
  await inside.run(id, "echo two > ~/file");
  // The name is that of the newest, and the earlier one goes.
  expect(await sandbox.createSnapshot({ name: "nightly" })).toEqual(named);
  expect(await listed(lab)).toEqual([named, tagged, unnamed]);
  expect(await listed(lab, { sandboxId: id, name: "nightly" })).toEqual([named, tagged]);
  expect([await listed(lab, { name: "other" }), await listed(lab, { sandboxId: "x".repeat(20) })]).toEqual([[], []]);

  const files: Record<string, string> = {};
  for (const { snapshotId } of [named, tagged, unnamed]) {
    const { sandboxId } = await Sandbox.create(snapshotId, lab.options);
    files[snapshotId] = await inside.run(sandboxId, "cat ~/file");
  }
  expect(files).toEqual({ [named.snapshotId]: "two", [tagged.snapshotId]: "one", [unnamed.snapshotId]: "one" });
  for (const name of ["not good", "UPPER", "../x", "a/b/c", ""])
    expect(await statusOf(lab, `/sandboxes/${id}/snapshots`, { name }), name).toBe(400);

  const [first, second] = await sandbox.fork({ count: 2, timeoutMs: 60_000 });
  if (!(first instanceof Sandbox && second instanceof Sandbox)) throw first;
  expect(new Set([id, first.sandboxId, second.sandboxId]).size).toBe(3);
  await inside.run(first.sandboxId, "test $(cat ~/file) = two && echo three > ~/file");
  expect(await inside.run(second.sandboxId, "cat ~/file")).toBe("two");
  const info = await first.getInfo();
  expect(info).toMatchObject({ metadata: { job: "7" }, allowInternetAccess: false, templateId: "base" });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(60_000);
  for (const count of [0, 101, 1.5]) expect(await statusOf(lab, `/sandboxes/${id}/fork`, { count }), String(count)).toBe(400);

  // Each fork that a quota refuses is told by itself, as E2B's clients want it.
  const apiKey = await lab.makeKey("agent", ["sandboxes:1"]);
  const [refused] = await Sandbox.connect(id, { ...lab.options, apiKey }).then((one) => one.fork());
  expect(refused).toMatchObject({ name: "RateLimitError", message: expect.stringContaining("quota of 1 sandboxes") as string });
});

async function statusOf(lab: E2bLab, path: string, body: unknown): Promise<number> {
  return (await lab.askAsOwner(path, { method: "POST", body: JSON.stringify(body) })).status;
}

it("starts from the caller's snapshot, whatever template of that name another owner shares, and names none as a template", async () => {
  await using lab = await openE2bLab();
  await using inside = await openE2bInside(lab);
  const sandbox = await Sandbox.create(lab.options);
  await inside.run(sandbox.sandboxId, "echo mine > ~/file");
  const snapshot = await sandbox.createSnapshot({ name: "nightly" });
  writeFileSync(join(lab.cli.folder, "Dockerfile"), "FROM base\nRUN echo theirs > /srv/file\n");
  expect(await lab.cli.run(["template", "build", "nightly", "--file", "Dockerfile"])).toMatchObject({ code: 0 });
  expect(await lab.cli.run(["template", "share", "nightly"])).toMatchObject({ code: 0 });
  for (const name of [snapshot.snapshotId, "nightly"]) {
    const { sandboxId } = await Sandbox.create(name, lab.options);
    expect(await inside.run(sandboxId, "cat ~/file; ls /srv"), name).toBe("mine");
  }
  for (const name of ["base", "mcp-gateway", "code-interpreter-v1:default"])
    expect(await statusOf(lab, `/sandboxes/${sandbox.sandboxId}/snapshots`, { name }), name).toBe(409);
  expect((await lab.askAsOwner("/templates/otherteam%2Fnightly", { method: "DELETE" })).status).toBe(404);
  expect(await listed(lab)).toEqual([snapshot]);
});
