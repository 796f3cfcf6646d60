import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CALL, openAuditHome } from "../../test/support/audit-home.ts";

it("is written once each line of the calls before it stands in the file", async () => {
  await using home = await openAuditHome();
  await using log = home.open();
  const inFile = async (): Promise<unknown[]> => (await home.entries()).map(({ fields }) => fields["tool"]);
  log.record({ ...CALL, tool: "a" });
  await log.written();
  expect(await inFile()).toEqual(["a"]);
  for (const tool of ["b", "c"]) log.record({ ...CALL, tool });
  await log.written();
  expect(await inFile()).toEqual(["a", "b", "c"]);
});

it("is written only with the line of a call that is recorded while another append ends", async () => {
  await using home = await openAuditHome();
  let onNow = (): void => undefined;
  await using log = home.open({
    now: () => {
      onNow();
      return new Date();
    },
  });
  log.record(CALL);
  await log.written();
  const path = join(home.segments, (await home.files())[0] ?? "");
  const recordAfter = async (microtasks: number): Promise<boolean> => {
    for (let count = 0; count < microtasks; count += 1) await Promise.resolve();
    log.record({ ...CALL, tool: `after-${microtasks}-` });
    await log.written();
    return readFileSync(path, "utf8").includes(`after-${microtasks}-`);
  };
  const found: Promise<boolean>[] = [];
  log.record(CALL);
  // The next time that it asks for the time, it is about to append.
  onNow = () => {
    onNow = () => undefined;
    for (let microtasks = 0; microtasks < 16; microtasks += 1) found.push(recordAfter(microtasks));
  };
  await log.written();
  expect(await Promise.all(found)).toEqual(Array.from({ length: 16 }, () => true));
});

it("waits for nothing while the disk refuses lines, also for a call that is only counted", async () => {
  await using home = await openAuditHome();
  await writeFile(home.segments, "not a folder");
  const log = home.open({ ownerBytesPerHour: 1_000 });
  for (let count = 0; count < 10; count += 1) {
    log.record(CALL);
    await log.written();
  }
  await expect(log.close()).rejects.toMatchObject({ code: "AUDIT_FAILED" });
  await rm(home.segments);
  log.record(CALL);
  await log.close();
});
