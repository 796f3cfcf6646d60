import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { GUARANTEES } from "./guarantees.ts";

const HERE = import.meta.dirname;

it("docs/security.md lists every guarantee in the same words, and no other", async () => {
  const page = await readFile(join(HERE, "../../docs/security.md"), "utf8");
  const listed = [...page.matchAll(/^- \*\*([a-z0-9-]+)\*\*: (.+)$/gm)].map(([, id, claim]) => [id, claim]);
  expect(Object.fromEntries(listed)).toEqual(GUARANTEES);
});

it("every guarantee has a test", async () => {
  const files = (await readdir(HERE)).filter((name) => name.endsWith(".test.ts"));
  const texts = await Promise.all(files.map((name) => readFile(join(HERE, name), "utf8")));
  const verified = new Set(texts.flatMap((text) => [...text.matchAll(/^ *verifies\(\s*"([a-z0-9-]+)"/gm)].map(([, id]) => id)));
  expect(verified).toEqual(new Set(Object.keys(GUARANTEES)));
});
