import { mkdtempSync, realpathSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOf } from "./read-unit-folder.ts";
import { replaceOurs, settleHeld, type IsOurs } from "./replace-ours.ts";

const NAME = "tool.py";
const HELD = `key.0123456789abcdef.${NAME}`;

const knows =
  (...texts: readonly string[]): IsOurs =>
  (digest) =>
    texts.some((text) => digestOf(NAME, text) === digest);

async function makePlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-replace-")));
  const place = { key: "key", folder: join(root, "unit"), aside: join(root, "aside") };
  await mkdir(place.folder);
  await mkdir(place.aside);
  return {
    ...place,
    file: join(place.folder, NAME),
    held: join(place.aside, HELD),
    state: async () => [await readFile(join(place.folder, NAME), "utf8").catch(() => undefined), await readdir(place.aside)],
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

describe("the replacement of a file of Belljar's", () => {
  it("writes, replaces and removes it", async () => {
    await using place = await makePlace();
    await replaceOurs(place, NAME, "1", knows());
    expect(await place.state()).toEqual(["1", []]);
    await replaceOurs(place, NAME, "2", knows("1", "2"));
    expect(await place.state()).toEqual(["2", []]);
    await replaceOurs(place, NAME, undefined, knows("2"));
    expect(await place.state()).toEqual([undefined, []]);
    await replaceOurs(place, NAME, undefined, knows("2"));
    expect(await place.state()).toEqual([undefined, []]);
  });

  it("gives back what a person wrote at the same moment", async () => {
    await using place = await makePlace();
    await writeFile(place.file, "a person's");
    await replaceOurs(place, NAME, "2", knows("1", "2"));
    expect(await place.state()).toEqual(["a person's", []]);
    await replaceOurs(place, NAME, undefined, knows("1", "2"));
    expect(await place.state()).toEqual(["a person's", []]);
  });

  it("is ended after a kill: a person's file comes back, Belljar's own goes", async () => {
    await using place = await makePlace();
    await writeFile(place.file, "2");
    await writeFile(place.held, "a person's");
    await settleHeld({ ...place, key: "other" }, knows("2"));
    expect(await place.state()).toEqual(["2", [HELD]]);
    await settleHeld(place, knows("1", "2"));
    expect(await place.state()).toEqual(["a person's", []]);
    await writeFile(place.held, "1");
    await settleHeld(place, knows("1", "2"));
    expect(await place.state()).toEqual(["a person's", []]);
    await writeFile(place.held, "an older one of a person");
    await settleHeld(place, knows("1", "2"));
    expect(await place.state()).toEqual(["a person's", []]);
  });
});
