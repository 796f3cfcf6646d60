import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { INSIDE } from "../../src/protocol/inside.ts";
import type { Workspace } from "../../src/runtime/contract/sandbox-spec.ts";
import { createSandbox, itNeeds, run, shareSandbox, soon } from "./contract-sandbox.ts";
import type { ContractFeatures, ContractSandbox, OpenRuntime } from "./contract-sandbox.ts";

const MODES = ["copy", "ro", "rw"] as const;

/** What docs/reference/inside.md promises. */
export function insideContract(open: OpenRuntime, features: ContractFeatures): void {
  describe("inside", () => {
    const shared = shareSandbox(open);
    const print = async (script: string, user?: string): Promise<string> =>
      (await run(shared.guest(), script, user === undefined ? {} : { user })).stdout.toString().trim();

    it("has the user's home where relative paths begin", async () => {
      const { files } = shared.guest();
      await files.write("inside.txt", Buffer.from("home"), { signal: soon() });
      expect(String(await files.read(`${INSIDE.userHome}/inside.txt`, { signal: soon(), maxBytes: 10 }))).toBe("home");
      expect(String(await files.read(`${INSIDE.workspace}/inside.txt`, { signal: soon(), maxBytes: 10 }))).toBe("home");
    });

    itNeeds(features, "isolation")("starts commands as the user, in its home", async () => {
      expect(await print('echo "$(id -un) $(id -u) $(id -g) $HOME $PWD"')).toBe(
        `${INSIDE.user} ${INSIDE.userId} ${INSIDE.userId} ${INSIDE.userHome} ${INSIDE.userHome}`,
      );
    });

    itNeeds(features, "twoUsers")("has a root beside the user", async () => {
      expect(await print('echo "$(id -un) $(id -u) $HOME"', INSIDE.root)).toBe(`${INSIDE.root} ${INSIDE.rootId} ${INSIDE.rootHome}`);
    });

    it("runs what names nobody as the user of its specification", async () => {
      await using made = await createSandbox(open, { user: INSIDE.root });
      expect((await run(made.guest, "echo $USER")).stdout.toString()).toBe(`${INSIDE.root}\n`);
      expect((await run(made.guest, "echo $USER", { user: INSIDE.user })).stdout.toString()).toBe(`${INSIDE.user}\n`);
      if (!features.twoUsers) return;
      await made.guest.files.write("/root/made", Buffer.from("x"), { signal: soon() });
      expect(await made.guest.files.stat("/root/made", { signal: soon() })).toMatchObject({ uid: INSIDE.rootId, gid: INSIDE.rootId });
    });

    itNeeds(features, "isolation")("leads from the workspace to the user's home", async () => {
      expect(await print(`readlink -f ${INSIDE.workspace}`)).toBe(INSIDE.userHome);
    });

    itNeeds(features, "isolation")("knows its own host name without asking the network", async () => {
      expect(await print('getent ahosts "$(hostname)" | cut -d" " -f1 | sort -u')).toBe("127.0.0.1");
    });

    itNeeds(features, "isolation")("lets git commit before anybody gave a name, and under a name that somebody gave", async () => {
      const begin = "cd $(mktemp -d) && git init -q";
      const commit = "git commit -q --allow-empty -m a && git log -1 --format='%an %ae, %cn'";
      const nobody = `${INSIDE.committer} ${INSIDE.committerEmail}, ${INSIDE.committer}`;
      for (const user of [INSIDE.user, INSIDE.root]) expect(await print(`${begin} && ${commit}`, user)).toBe(nobody);
      expect(await print(`${begin} && git config user.name Me && git config user.email me@b && ${commit}`)).toBe("Me me@b, Me");
    });

    itNeeds(features, "isolation")("lets nobody inside change its own programs", async () => {
      const script = `test -d ${INSIDE.programs} && for at in ${INSIDE.programs} ${INSIDE.kernels}; do touch $at/x 2>/dev/null && echo $at; done; echo done`;
      for (const user of [INSIDE.user, INSIDE.root]) expect(await print(script, user)).toBe("done");
    });
  });
  insideWorkspace(open, features);
}

function insideWorkspace(open: OpenRuntime, features: ContractFeatures): void {
  describe("inside, with a workspace", () => {
    let path: string;
    beforeAll(async () => {
      path = await mkdtemp(join(tmpdir(), "bj-"));
      await chmod(path, 0o755);
      await writeFile(join(path, "mine"), "mine", { mode: 0o644 });
    });
    afterAll(() => rm(path, { recursive: true }));

    const show = (mode: Workspace["mode"], place: string): Promise<ContractSandbox> => {
      const inside = { env: {}, home: INSIDE.userHome, workspace: place, cwd: place };
      return createSandbox(open, { workspace: { path, mode }, inside });
    };

    describe.each(["/srv/some/project", INSIDE.workspace])("at %s", (place) => {
      it.each(MODES)("begins relative paths in it, and /workspace leads there: %s", async (mode) => {
        await using made = await show(mode, place);
        const { files } = made.guest;
        for (const name of ["mine", `${place}/mine`, `${INSIDE.workspace}/mine`])
          expect(String(await files.read(name, { signal: soon(), maxBytes: 10 }))).toBe("mine");
        await files.write(`${INSIDE.userHome}/.npmrc`, Buffer.from("token"), { signal: soon() });
        await expect(files.stat(".npmrc", { signal: soon() })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
        expect(await readdir(path)).toEqual(["mine"]);
      });

      itNeeds(features, "isolation")("starts commands of each user in it, who keep their homes", async () => {
        await using made = await show("copy", place);
        for (const [user, home] of [
          [INSIDE.user, INSIDE.userHome],
          [INSIDE.root, features.twoUsers ? INSIDE.rootHome : expect.any(String)],
        ] as const) {
          const { stdout } = await run(made.guest, "pwd -P; readlink -f /workspace; echo $HOME", { user });
          expect(stdout.toString().trim().split("\n")).toEqual([place, place, home]);
        }
      });
    });
  });
}
