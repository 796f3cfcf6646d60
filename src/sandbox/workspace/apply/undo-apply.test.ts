import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fromKey } from "../entry.ts";
import { HostFolder } from "../host-folder.ts";
import type { AppliedFolder } from "./applied-folder.ts";
import { openAppliedFolder } from "./applied-folder.ts";
import type { ApplyJournal, Outcome, Step } from "./apply-journal.ts";
import { markProcess } from "./process-mark.ts";
import { takeSteps } from "./take-steps.ts";
import { findAppliedFolder, recoverApply, undoApply } from "./undo-apply.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const STAGING = ".staging";
const { signal } = new AbortController();
const conflict = (words: string) =>
  expect.objectContaining({ code: "WORKSPACE_CONFLICT", message: expect.stringContaining(words) as string }) as Error;

/** A folder of the host with `changed`, `kept` and `gone`, and a home. */
async function openLab() {
  const outer = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "bj-undo-")));
  const [root, home] = [join(outer, "root"), join(outer, "home")];
  for (const path of [root, home, join(root, STAGING)]) fs.mkdirSync(path);
  for (const name of ["changed", "kept", "gone"]) fs.writeFileSync(join(root, name), `old ${name}`);
  const folder = new HostFolder(root);
  const applied: AppliedFolder = openAppliedFolder(home, root);
  const stat = (key: string) => folder.stat(fromKey(key));
  const need = async (key: string) => (await stat(key)) ?? Promise.reject(new TypeError(`${key} is there`));
  return {
    root,
    home,
    folder,
    applied,
    texts: () =>
      Object.fromEntries(
        fs.readdirSync(root).flatMap((name) => (name === STAGING ? [] : [[name, fs.readFileSync(join(root, name), "utf8")]])),
      ),
    write: (name: string, text: string) => fs.writeFileSync(join(root, name), text),
    /** Writes `changed` and `new` anew, and removes `gone`, as an apply does. `cut`: it did not come to its end. */
    async apply({ cut = false, writer }: { readonly cut?: boolean; readonly writer?: string } = {}): Promise<ApplyJournal> {
      for (const name of ["changed", "new"]) fs.writeFileSync(join(root, STAGING, name), `new ${name}`);
      const [changed, gone] = [await need("changed"), await need("gone")];
      const place = async (key: string): Promise<Step> => ({
        kind: "place",
        key,
        staged: `${STAGING}/${key}`,
        after: await need(`${STAGING}/${key}`),
      });
      const steps: Step[] = [
        { kind: "take", key: "changed", old: `${STAGING}/1`, before: changed },
        await place("changed"),
        await place("new"),
        { kind: "take", key: "gone", old: `${STAGING}/2`, before: gone },
      ];
      const own = writer ?? (await markProcess()) ?? "";
      const outcomes: Outcome[] = [
        { key: "changed", before: changed, isPlain: true },
        { key: "new", isPlain: false },
        { key: "gone", before: gone, isPlain: true },
      ];
      const plain = { version: 1, id: "one", sandboxId: ID, hostPath: root, staging: STAGING, writer: own, isComplete: false } as const;
      const begun: ApplyJournal = { ...plain, steps, outcomes };
      await applied.begin(begun);
      await takeSteps({ folder, signal }, steps);
      if (cut) return begun;
      for (const name of ["1", "2"]) fs.renameSync(join(root, STAGING, name), join(applied.old, name));
      fs.rmdirSync(join(root, STAGING));
      const written: Outcome[] = [];
      for (const outcome of begun.outcomes) {
        const after = await stat(outcome.key);
        written.push({ ...outcome, ...(after && { after }) });
      }
      const done = { ...begun, outcomes: written, isComplete: true };
      await applied.finish(done);
      return done;
    },
    [Symbol.dispose]: () => fs.rmSync(outer, { recursive: true }),
  };
}

const OLD = { changed: "old changed", kept: "old kept", gone: "old gone" };
const NEW = { changed: "new changed", kept: "old kept", new: "new new" };

it("brings back all that an apply wrote, once", async () => {
  using lab = await openLab();
  await lab.apply();
  expect(lab.texts()).toEqual(NEW);
  expect(await undoApply(lab.root, lab.home)).toEqual({ hostPath: lab.root, sandboxId: ID, undone: 3 });
  expect(lab.texts()).toEqual(OLD);
  expect(fs.readdirSync(lab.root)).not.toContain(STAGING);
  await expect(undoApply(lab.root, lab.home)).rejects.toThrow(conflict("no apply, or it is undone already"));
});

it("makes what the sandbox had changed its change again", async () => {
  using lab = await openLab();
  const { outcomes } = await lab.apply();
  await lab.applied.note(
    ID,
    outcomes.map(({ key, after }) => ({ key, guest: after, host: after })),
  );
  await undoApply(lab.root, lab.home, ID);
  const known = await lab.applied.applied(ID);
  expect([...known.keys()].toSorted()).toEqual(["changed", "gone"]);
  expect(known.get("changed")).toMatchObject({ guest: { size: "old changed".length }, host: { size: "old changed".length } });
});

it("undoes nothing if somebody changed some of it since, and names that", async () => {
  using lab = await openLab();
  await lab.apply();
  lab.write("changed", "mine");
  lab.write("gone", "mine");
  const before = lab.texts();
  await expect(undoApply(lab.root, lab.home)).rejects.toThrow(conflict("changed since the apply: changed, gone"));
  expect(lab.texts()).toEqual(before);
  fs.rmSync(join(lab.root, "new"));
  await expect(undoApply(lab.root, lab.home)).rejects.toThrow(conflict("changed since the apply: changed, new, gone"));
});

it("undoes only the named sandbox's apply, if that was the last one", async () => {
  using lab = await openLab();
  await lab.apply();
  await expect(undoApply(lab.root, lab.home, "b".repeat(20))).rejects.toThrow(conflict(`was of sandbox ${ID}`));
  expect(lab.texts()).toEqual(NEW);
});

it("undoes an apply that was cut off, and refuses one that still writes", async () => {
  using writing = await openLab();
  await writing.apply({ cut: true });
  await expect(undoApply(writing.root, writing.home)).rejects.toThrow(conflict("Another apply writes"));
  using lab = await openLab();
  await lab.apply({ cut: true, writer: "nobody" });
  expect(await recoverApply(lab.applied, lab.folder)).toMatchObject({ sandboxId: ID, isComplete: false });
  expect(lab.texts()).toEqual(OLD);
  expect(await recoverApply(lab.applied, lab.folder)).toBeUndefined();
  await expect(undoApply(lab.root, lab.home)).rejects.toThrow(conflict("no apply"));
});

it("finds the folder to which something was applied: this one, or the next above", async () => {
  using lab = await openLab();
  await expect(findAppliedFolder(lab.root, lab.home)).rejects.toThrow(conflict(`in ${lab.root}`));
  await lab.apply();
  expect([await findAppliedFolder(lab.root, lab.home), await findAppliedFolder(join(lab.root, "a/b"), lab.home)]).toEqual([
    lab.root,
    lab.root,
  ]);
  await expect(findAppliedFolder(join(lab.root, ".."), lab.home)).rejects.toThrow(conflict("no apply"));
});
