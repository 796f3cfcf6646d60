import { expect, it } from "vitest";
import { soon } from "../../../contract/contract-sandbox.ts";
import { openStateLab, setXattr, tellDiff } from "../../../support/state-lab.ts";

const isRoot = process.getuid?.() === 0;
const STORAGES = isRoot ? (["btrfs", "tmpfs", "home"] as const) : (["tmpfs", "home"] as const);

it.each(STORAGES)("a diff of points shows what was added, changed, removed and renamed (%s)", async (storage) => {
  await using lab = await openStateLab(storage);
  const { sh, freeze, now } = await lab.sandbox();
  await sh(
    "mkdir -p work/old; printf 'one\\ntwo\\n' > work/text; echo moved > work/old/name; echo gone > work/gone; ln -s a work/link; echo x > work/mode",
    "user",
  );
  const before = await freeze();
  await sh(
    "cd work; printf 'one\\nTWO\\n' > text; mv old/name name; rmdir old; rm gone; ln -sfn b link; chmod 755 mode; echo new > new; echo z > /tmp/z",
    "user",
  );
  const after = await freeze();
  const expected = ["changed /home/user/work/link", "changed /home/user/work/mode", "renamed /home/user/work/old/name /home/user/work/name", "added /home/user/work/new", "changed /home/user/work/text", "removed /home/user/work/gone", "removed /home/user/work/old"].toSorted(); // prettier-ignore
  for (const to of [after, now]) {
    const diff = await lab.comparison.diff({ states: lab.states, from: before, to, signal: soon() });
    expect(tellDiff(diff).toSorted()).toEqual(expected);
    expect(diff.omitted).toBe(0);
    const patch = diff.changes.find(({ path }) => path === "/home/user/work/text")?.patch;
    expect(patch).toContain("-two\n+TWO\n");
  }
  expect(tellDiff(await lab.comparison.diff({ states: lab.states, from: before, to: before, signal: soon() }))).toEqual([]);
  expect(tellDiff(await lab.comparison.diff({ states: lab.states, from: after, to: now, signal: soon() }))).toEqual([]);
  const named = await lab.comparison.diff({
    states: lab.states,
    from: before,
    to: now,
    paths: ["/workspace/work/text", "/tmp"],
    signal: soon(),
  });
  expect(tellDiff(named)).toEqual(["changed /home/user/work/text", "added /tmp/z"]);
});

it.each(STORAGES)("a fork's diff has the ids inside, and system files, and nothing of its start (%s)", async (storage) => {
  await using lab = await openStateLab(storage);
  const parent = await lab.sandbox();
  await parent.sh("echo x > /etc/mine; mkdir /usr/local/lib/mine");
  const shared = await parent.freeze();
  const fork = await lab.sandbox({ layers: shared.layers });
  expect(tellDiff(await lab.comparison.diff({ states: lab.states, from: shared, to: fork.now, signal: soon() }))).toEqual([]);
  await fork.sh("echo y > /etc/mine; echo z > /usr/local/lib/mine/z; rm /usr/bin/perl");
  const found = [];
  for await (const change of lab.states.compare(shared, fork.now, soon())) if (change.path.toString() === "/etc/mine") found.push(change);
  const owner = isRoot ? 0 : found[0]?.after?.uid;
  expect(found).toMatchObject([{ before: { uid: owner, size: 2 }, after: { uid: owner, size: 2, type: "file" } }]);
  expect(tellDiff(await lab.comparison.diff({ states: lab.states, from: shared, to: fork.now, signal: soon() }))).toEqual([
    "changed /etc/mine",
    "removed /usr/bin/perl",
    "added /usr/local/lib/mine/z",
  ]);
});

it.each(STORAGES)("a change of extended attributes alone is a change (%s)", async (storage) => {
  await using lab = await openStateLab(storage);
  const { sh, freeze, now } = await lab.sandbox();
  await sh("mkdir -p work/folder work/same; echo x > work/file; echo x > work/same/file; touch -d @1 work/file", "user");
  const before = await freeze();
  await sh(`cd work; ${setXattr("file", "colour", "red")}; ${setXattr("folder", "colour", "red")}`, "user");
  const changes = async () => tellDiff(await lab.comparison.diff({ states: lab.states, from: before, to: now, signal: soon() }));
  expect(await changes()).toEqual(["changed /home/user/work/file", "changed /home/user/work/folder"]);
  await sh('cd work; python3 -B -c \'import os; [os.removexattr(name, "user.colour") for name in ("file", "folder")]\'', "user");
  expect(await changes()).toEqual([]);
});
