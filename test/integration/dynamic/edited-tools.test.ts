import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openToolsLab, textOf, type ToolsLab } from "../../support/tools-lab.ts";

let lab: ToolsLab;
beforeAll(async () => {
  lab = await openToolsLab();
  lab.tools.followEdits();
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);

const javascript = (answer: string): string => `export default defineTool({ description: "", run: () => ${JSON.stringify(answer)} });\n`;
const folderOf = (name: string): string => join(lab.path, "tools/local", name);

/** Resolves once the tools of the lab are so. */
function changed(isSo: () => Promise<boolean>): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => void isSo().then((so) => so && resolve(), reject);
    lab.catalog.onChange(look);
    look();
  });
}

const answers = (name: string, answer: string) => changed(async () => textOf(await lab.call(name)) === answer);

it("takes up what a person edits in a tool's file, as a new version", async () => {
  await lab.add(javascript("one"), { name: "edited", language: "javascript" });
  const file = join(folderOf("edited"), "tool.js");
  expect(readFileSync(file, "utf8")).toBe(javascript("one"));
  writeFileSync(`${file}.new`, javascript("two"));
  renameSync(`${file}.new`, file);
  await answers("edited", "two");
  expect(await lab.tools.get(LOCAL, "edited")).toMatchObject({ version: 2, state: "live" });
});

it("takes up a folder that a person makes, and forgets one that a person removes", async () => {
  mkdirSync(folderOf("handmade"));
  writeFileSync(join(folderOf("handmade"), "tool.js"), javascript("by hand"));
  await changed(async () => lab.names().includes("handmade"));
  expect(textOf(await lab.call("handmade"))).toBe("by hand");
  rmSync(folderOf("handmade"), { recursive: true });
  await changed(async () => !lab.names().includes("handmade"));
});

it("leaves callers the version that they have where an edit is broken, and says why", async () => {
  await lab.add(javascript("whole"), { name: "brittle", language: "javascript" });
  const told = new Promise<void>((resolve) => lab.onProblem((problem) => problem.includes("brittle") && resolve()));
  writeFileSync(join(folderOf("brittle"), "tool.js"), "export default {");
  await told;
  expect(textOf(await lab.call("brittle"))).toBe("whole");
  const [unit] = (await lab.tools.list(LOCAL)).tools.filter(({ name }) => name === "brittle");
  expect(unit).toMatchObject({
    state: "live",
    version: 1,
    schema_error: { file: "tool.js", line: 1, message: expect.stringContaining("SyntaxError") },
  });
  writeFileSync(join(folderOf("brittle"), "tool.js"), javascript("mended"));
  await answers("brittle", "mended");
  expect((await lab.tools.get(LOCAL, "brittle")).schema_error).toBeUndefined();
});

it("takes up a folder of tools that is named at the start, and never writes into it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bj-folder-"));
  writeFileSync(join(folder, "named.js"), javascript("named"));
  await using own = await openToolsLab({ folder });
  own.tools.followEdits();
  const has = (answer: string) =>
    new Promise<void>((resolve, reject) => {
      const look = (): void =>
        void own
          .call("named")
          .then((result) => textOf(result) === answer && resolve())
          .catch((cause: unknown) => (own.names().includes("named") ? reject(cause as Error) : undefined));
      own.catalog.onChange(look);
      look();
    });
  await has("named");
  writeFileSync(join(folder, "named.js"), javascript("changed"));
  await has("changed");
  expect(readdirSync(folder)).toEqual(["named.js"]);
  const gone = new Promise<void>((resolve) => own.catalog.onChange(() => own.names().length === 0 && resolve()));
  rmSync(join(folder, "named.js"));
  await gone;
  rmSync(folder, { recursive: true });
});
