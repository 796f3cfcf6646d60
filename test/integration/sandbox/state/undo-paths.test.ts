import { expect, it } from "vitest";
import { soon } from "../../../contract/contract-sandbox.ts";
import { STATE_STORAGES } from "../../../support/state-home.ts";
import { openStateLab, setXattr, tellXattrs } from "../../../support/state-lab.ts";

const LOOK = "cd work && find . -printf '%P %y %m %u:%g %l\\n' | LC_ALL=C sort && find . -type f -exec sha256sum {} + | LC_ALL=C sort";

it("an undo gives paths what they held, with modes and owners, and touches no other", async () => {
  await using lab = await openStateLab("home");
  const { sh, freeze, now, guest } = await lab.sandbox();
  await sh("mkdir -p work/a/deep work/closed; echo one > work/a/one; echo two > work/a/deep/two; ln -s one work/a/link; echo script > work/a/script; chmod 750 work/a/script; echo other > work/other; echo c > work/closed/c; chmod 555 work/closed", "user"); // prettier-ignore
  await sh("echo root > work/a/root; chmod 640 work/a/root; echo daemon > work/a/daemon; chown 1:1 work/a/daemon 2>/dev/null || true");
  const before = await sh(LOOK);
  const point = await freeze();
  await sh("cd work; chmod 755 closed; rm -r closed a/deep a/root a/daemon; echo ONE > a/one; rm a/link; mkdir a/link; echo in > a/link/in; echo new > a/new; mkdir a/more; echo m > a/more/m; chmod 600 a/script"); // prettier-ignore
  await sh("echo changed > work/other", "user");
  const undone = await lab.comparison.undo({ states: lab.states, to: point, now, guest, paths: ["/home/user/work/a", "/workspace/work/closed"], signal: soon() }); // prettier-ignore
  expect(undone.conflicts).toEqual([]);
  expect(undone.changed).toContain("/home/user/work/a/more/m");
  const other = /other$/m;
  const after = await sh(LOOK);
  expect(after.split("\n").filter((line) => !other.test(line))).toEqual(before.split("\n").filter((line) => !other.test(line)));
  expect(await sh("cat work/other")).toBe("changed\n");
});

it("an undo names what it cannot bring back, and goes on", async () => {
  await using lab = await openStateLab("home");
  const { sh, freeze, now, guest } = await lab.sandbox({ root: false });
  await sh("mkdir work; mkfifo work/pipe; echo a > work/a", "user");
  const point = await freeze();
  await sh("rm work/pipe work/a", "user");
  const undone = await lab.comparison.undo({ states: lab.states, to: point, now, guest, paths: ["/home/user"], signal: soon() });
  expect(undone.changed).toEqual(["/home/user/work/a"]);
  expect(undone.conflicts).toEqual([{ path: "/home/user/work/pipe", reason: expect.stringContaining("cannot be brought back") }]);
  await expect(lab.comparison.undo({ states: lab.states, to: point, now, guest, paths: ["work"], signal: soon() })).rejects.toMatchObject({ code: "PATH_INVALID" }); // prettier-ignore
});

it.each(STATE_STORAGES)("an undo brings back holes, extended attributes, and all names of a file, on %s", async (storage) => {
  await using lab = await openStateLab(storage);
  const { sh, freeze, now, guest } = await lab.sandbox();
  await sh(
    `mkdir -p work/sub; cd work; echo one > a; ln a sub/b; ln a c; truncate -s 50M hole; echo end >> hole; echo p > painted; ${setXattr("painted", "colour", "red")}; ${setXattr("a", "colour", "red")}; ${setXattr("sub", "colour", "red")}; chmod 400 painted`,
    "user",
  );
  await sh(`cd /home/user/work; echo r > root; ${setXattr("root", "colour", "red")}; chmod 444 root`);
  const point = await freeze();
  await sh(
    `cd work; rm sub/b; echo two > a; rm hole; rm -f root; chmod 600 painted; ${setXattr("painted", "colour", "blue")}; ${setXattr("painted", "more", "x")}; ${setXattr("sub", "more", "x")}`,
    "user",
  );
  const undone = await lab.comparison.undo({ states: lab.states, to: point, now, guest, paths: ["/home/user/work"], signal: soon() });
  expect(undone.conflicts).toEqual([]);
  expect(await sh("cd work; cat a sub/b; stat -c '%a %U' painted root; stat -c %s hole; du -k hole | awk '{ print ($1 < 1024) }'")).toBe(
    "one\none\n400 user\n444 root\n52428804\n1\n",
  );
  expect(await sh(`cd work; ${tellXattrs("painted", "a", "sub", "root")}`)).toBe("user.colour=red\n".repeat(4));
  expect(await sh("cd work; stat -c %i a; stat -c %i sub/b")).toMatch(/^(\d+)\n\1\n$/);
  expect(await lab.comparison.diff({ states: lab.states, from: point, to: now, paths: ["/home/user/work"], signal: soon() })).toEqual({
    changes: [],
    omitted: 0,
  });
});

it("an undo of a sandbox without root brings back the attributes of a file that its user may not write", async () => {
  await using lab = await openStateLab("home");
  const { sh, freeze, now, guest } = await lab.sandbox({ root: false });
  await sh(`mkdir work; cd work; echo p > painted; ${setXattr("painted", "colour", "red")}; chmod 400 painted`, "user");
  const point = await freeze();
  await sh("rm -f work/painted", "user");
  const undone = await lab.comparison.undo({ states: lab.states, to: point, now, guest, signal: soon() });
  expect(undone).toEqual({ changed: ["/home/user/work/painted"], conflicts: [] });
  expect(await sh(`cd work; ${tellXattrs("painted")}; stat -c %a painted`, "user")).toBe("user.colour=red\n400\n");
});
