import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createSandbox, run } from "../../../contract/contract-sandbox.ts";
import { guestIn, makeHome, startRun } from "../../../support/namespace-home.ts";

const PLACE = "/work/some/project";

it("a later run has its workspace at the same place, whatever lies there by then", async () => {
  await using home = await makeHome();
  const path = join(home.path, "project");
  await mkdir(path);
  await chmod(home.path, 0o755);
  await chmod(path, 0o755);
  await writeFile(join(path, "mine"), "mine", { mode: 0o644 });
  const inside = { env: {}, home: "/home/user", workspace: PLACE, cwd: PLACE };
  const workspace = { path, mode: "copy" } as const;
  await using sandbox = await createSandbox(() => home.open("home"), { workspace, inside, ephemeral: false });
  expect((await run(sandbox.guest, "echo written > file", { user: "user" })).exitCode).toBe(0);
  const moved = "mv /work /old && ln -s /etc /work && rm /workspace && ln -s /root /workspace";
  expect((await run(sandbox.guest, moved, { user: "root" })).exitCode).toBe(0);
  await sandbox.running.stop();
  await using second = await startRun(sandbox, 2);
  const { stdout } = await run(guestIn(second), "pwd; cat mine file; readlink /workspace; ls -d /etc/some; stat -c '%F %U %a' /work");
  expect(stdout.toString()).toBe(`${PLACE}\nminewritten\n${PLACE}\ndirectory root 755\n`);
  await run(guestIn(second), "rm /workspace; mkdir /workspace; touch /workspace/own", { user: "root" });
  await second.stop();
  await using third = await startRun(sandbox, 3);
  expect((await run(guestIn(third), `ls /workspace ${PLACE}`)).stdout.toString()).toBe(`${PLACE}:\nfile\nmine\n\n/workspace:\nown\n`);
});
