import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { parseDockerfile } from "../build/parse-dockerfile.ts";
import { BuildFiles } from "./build-files.ts";
import type { BuildRecord } from "./build-record.ts";
import { PlannedBuilds } from "./planned-builds.ts";

const WORK = { file: parseDockerfile("FROM base\n", { buildArgs: {}, target: undefined }), archives: new Map<string, string>() };

/** Builds that go on until they are ended by hand. */
async function open() {
  const home = await mkdtemp(join(tmpdir(), "belljar-planned-"));
  const files = new BuildFiles(home);
  const going: BuildRecord[] = [];
  const planned = new PlannedBuilds(files, { follow: (_begun, record) => void going.push(record) });
  return {
    planned,
    going,
    plan: async (name: string) => (await planned.plan(LOCAL, { names: [name] })).id,
    endOne: async () => {
      const [record] = going.splice(0, 1);
      if (record) await files.end({ ...record, endedAt: new Date() });
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

it("keeps a build that is one too many, which can be begun when another has ended", async () => {
  await using lab = await open();
  const { planned, going } = lab;
  for (let count = 0; count < 8; count += 1) await planned.begin(LOCAL, await lab.plan(`one-${count}`), WORK);
  const id = await lab.plan("late");
  const refused = { code: "QUOTA_EXCEEDED" };
  await expect(planned.begin(LOCAL, id, WORK)).rejects.toMatchObject(refused);
  await expect(planned.begin(LOCAL, id, WORK)).rejects.toMatchObject(refused);
  expect(await planned.info(LOCAL, id)).toMatchObject({ state: "waiting", names: ["late"] });
  await lab.endOne();
  await planned.begin(LOCAL, id, WORK);
  expect(going.map(({ name }) => name)).toContain("late");
  expect(await planned.info(LOCAL, id)).toMatchObject({ state: "building" });
  await expect(planned.begin(LOCAL, id, WORK), "it has begun").rejects.toMatchObject({ code: "TEMPLATE_BUSY" });
});
