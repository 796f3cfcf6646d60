import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import { MOUNTS_MAX } from "../../src/runtime/guest/mounts.ts";
import type { Mount } from "../../src/runtime/contract/sandbox-spec.ts";
import type { SharedFolders } from "../../src/runtime/contract/shared-folders.ts";
import { type ContractFeatures, createSandbox, itNeeds, type OpenRuntime, run, soon } from "./contract-sandbox.ts";

const USER = { uid: 1000, gid: 1000 };

/** Folders of the host that several sandboxes share. */
export function mountsContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("a shared folder", () => {
    let folder: string;
    let shared: SharedFolders;
    beforeAll(async () => {
      shared = need((await open()).shared);
      folder = await mkdtemp(join(tmpdir(), "bj-"));
      await shared.make(folder);
    });
    afterAll(async () => {
      await shared.remove(folder);
      expect(await readdir(folder)).toEqual([]);
      await shared.remove(folder); // once more is no error
      await rm(folder, { recursive: true });
    });

    it("is seen by several sandboxes at once, each at its own path, and stays when they go", async () => {
      const tree = join(folder, "tree");
      expect(shared.toInside(await lstat(tree))).toEqual(USER);
      {
        await using one = await createSandbox(open, { mounts: [{ folder, at: "/mnt/data" }] });
        await using other = await createSandbox(open, { mounts: [{ folder, at: "/home/user/here" }] });
        await one.guest.files.write("/mnt/data/sub/note", "from one", { parents: true, signal: soon() });
        expect(String(await other.guest.files.read("/home/user/here/sub/note", { signal: soon(), maxBytes: 100 }))).toBe("from one");
        await other.guest.files.write("/home/user/here/back", "from other", { signal: soon() });
        expect(String(await one.guest.files.read("/mnt/data/back", { signal: soon(), maxBytes: 100 }))).toBe("from other");
      }
      expect((await readdir(tree)).toSorted()).toEqual(["back", "sub"]);
      expect(shared.toInside(await lstat(join(tree, "back")))).toEqual(USER);
    });

    itNeeds(features, "twoUsers")("has each user's files with the same ids in every sandbox", async () => {
      await using one = await createSandbox(open, { mounts: [{ folder, at: "/mnt/data" }] });
      await using other = await createSandbox(open, { mounts: [{ folder, at: "/mnt/data" }] });
      await run(one.guest, "umask 077; mkdir /mnt/data/closed && echo secret > /mnt/data/closed/file; chown 12:34 /mnt/data/closed/file", {
        user: "root",
      });
      const seen = (user: string) => run(other.guest, "cat /mnt/data/closed/file; stat -c %u:%g /mnt/data/closed/file", { user });
      expect((await seen("root")).stdout.toString()).toBe("secret\n12:34\n");
      expect((await seen("user")).stdout.toString()).toBe("");
      expect(shared.toInside(await lstat(join(folder, "tree/closed")))).toEqual({ uid: 0, gid: 0 });
    });

    itNeeds(features, "isolation")("leads by no link out of the sandbox that follows it, and runs no program as its owner", async () => {
      await using one = await createSandbox(open, { mounts: [{ folder, at: "/mnt/data" }] });
      const made = await run(
        one.guest,
        `ln -s ${folder} /mnt/data/host; ln -s /etc/hostname /mnt/data/name; cp /bin/true /mnt/data/setid; chmod 4755 /mnt/data/setid; stat -c %a /mnt/data/setid`,
      );
      expect(made.stdout.toString()).toBe("755\n");
      await using other = await createSandbox(open, { mounts: [{ folder, at: "/srv/data" }], hostname: "other" });
      const looked = await run(
        other.guest,
        "ls /srv/data/host/; hostname; mount -t proc none /srv/data 2>&1; rmdir /srv/data; mv /srv/data /srv/moved; ls /srv",
      );
      expect(looked.stdout.toString()).toMatch(/^other\n[^]*data\n$/);
      expect(looked.stderr.toString()).toContain("No such file or directory");
    });

    itNeeds(features, "stop")("is there again in a later run, whatever the sandbox put in its way, and in no state of it", async () => {
      await using sandbox = await createSandbox(open, { mounts: [{ folder, at: "/mnt/deep/data" }] });
      await sandbox.guest.files.write("/mnt/deep/data/kept", "kept", { signal: soon() });
      if (features.isolation) await run(sandbox.guest, "mv /mnt/deep /mnt/gone && ln -s /tmp /mnt/deep", { user: "root" });
      await sandbox.running.stop();
      await using again = await sandbox.runtime.create({ ...sandbox.spec, generation: 2 }, soon());
      const { files } = createGuest((signal) => again.connect(signal), { ended: again.ended });
      expect(String(await files.read("/mnt/deep/data/kept", { signal: soon(), maxBytes: 100 }))).toBe("kept");
      await expect(files.stat("/tmp/data", { signal: soon() })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });

    itNeeds(features, "states")("belongs to no frozen state, whose sandboxes have it where they say", async () => {
      await using sandbox = await createSandbox(open, { mounts: [{ folder, at: "/mnt/data" }], ephemeral: false });
      const states = need(sandbox.runtime.layers.states);
      await run(sandbox.guest, "echo own > ~/own; echo now > /mnt/data/now");
      const request = { run: sandbox.spec, isRunning: true, durable: false, isOwn: false, user: "mounts-contract" };
      const { layers } = await states.freeze(request, soon());
      try {
        expect((await run(sandbox.guest, "cat /mnt/data/now && echo more >> /mnt/data/now")).stdout.toString()).toBe("now\n");
        await using without = await createSandbox(open, { base: { template: "base", layers } });
        expect((await run(without.guest, "cat ~/own; ls /mnt/data")).stdout.toString()).toBe("own\n");
        await using fork = await createSandbox(open, { base: { template: "base", layers }, mounts: [{ folder, at: "/mnt/data" }] });
        expect((await run(fork.guest, "cat ~/own /mnt/data/now")).stdout.toString()).toBe("own\nnow\nmore\n");
      } finally {
        await states.letGo(layers, "mounts-contract");
      }
    });

    it("cannot be where it would hide something of the sandbox's, nor be one of many", async () => {
      const refused = async (mounts: readonly Mount[]) =>
        expect(createSandbox(open, { mounts }), JSON.stringify(mounts)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
      const places = ["/", "mnt", "/mnt/", "/mnt/../etc", "/mnt/./a", "//mnt", "/proc/1", "/sys", "/dev/shm", "/opt", "/opt/belljar/bin"];
      for (const at of [...places, "/etc/x", "/lib", "/lib64/x", "/usr", "/mnt/a\0b", `/${"a".repeat(256)}`])
        await refused([{ folder, at }]);
      await refused(["/mnt/a", "/mnt/a/b"].map((at) => ({ folder, at })));
      await refused(["/mnt/a", "/mnt/a"].map((at) => ({ folder, at })));
      await refused(Array.from({ length: MOUNTS_MAX + 1 }, (_, i) => ({ folder, at: `/mnt/${i}` })));
    });
  });
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the runtime has none");
  return value;
}
