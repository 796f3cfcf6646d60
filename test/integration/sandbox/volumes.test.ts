import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { createTestTexts } from "../../support/test-texts.ts";
import { openStateHome, shell } from "../../support/state-home.ts";

const signal = new AbortController().signal;

it("stays with its sandbox through stops, forks and rollbacks, and is in no state of it", { timeout: 60_000 }, async () => {
  using texts = createTestTexts();
  await using home = await openStateHome("home", { texts });
  const { volumes, snapshots } = home.sandboxes;
  const { id } = await volumes.create(LOCAL, { name: "data", quotaBytes: 2 ** 24 });
  const options = { volumes: [{ volume: "data", path: "/mnt/data" }], onDeadline: "stop" } as const;
  const made = await home.sandboxes.create(LOCAL, options, signal);
  expect((await made.info()).volumes).toEqual([{ id, name: "data", path: "/mnt/data" }]);
  await shell(made, "echo own > ~/own; echo first > /mnt/data/file");
  const { id: point } = await made.timeLine.checkpoint({}, signal);
  await shell(made, "echo later > ~/own; echo second > /mnt/data/file; echo new > /mnt/data/new");
  const { changes } = await made.timeLine.diff({ from: point }, signal);
  const paths = changes.map(({ path }) => path);
  expect([paths.includes("/home/user/own"), paths.filter((path) => path.startsWith("/mnt"))]).toEqual([true, []]);

  const [fork] = await snapshots.fork(LOCAL, { sandbox: made.id }, {}, signal);
  if (!fork) throw new Error("no fork was made");
  expect(await shell(fork, "cat ~/own /mnt/data/file; echo fork > /mnt/data/from")).toBe("later\nsecond");
  await made.stop();
  await expect(volumes.remove(LOCAL, "data")).rejects.toMatchObject({ code: "VOLUME_IN_USE" });
  const again = await made.start(signal);
  expect(await shell(again, "cat ~/own /mnt/data/from")).toBe("later\nfork");
  const { sandbox: back } = await again.timeLine.rollback(point, signal);
  expect(await shell(back, "cat ~/own /mnt/data/file"), "its own files are those of then, the volume's those of now").toBe("own\nsecond");

  await Promise.all([fork.kill(), back.kill()]);
  await volumes.remove(LOCAL, "data");
  await expect(lstat(join(home.crash.home, "volumes", id.slice(0, 20)))).rejects.toThrow("ENOENT");
  await expect(home.sandboxes.create(LOCAL, options, signal)).rejects.toMatchObject({ code: "VOLUME_NOT_FOUND" });
});
