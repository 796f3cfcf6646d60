import { mkdtempSync, realpathSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFolderOfTools, type FolderOfTools } from "./folder-of-tools.ts";

async function makeFolder() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-folder-")));
  const problems: string[] = [];
  return {
    root,
    problems,
    write: (name: string, text: string) => writeFile(join(root, name), text),
    open: () => openFolderOfTools({ folder: root, report: (problem) => problems.push(problem) }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
}

/** Resolves once the unit is told and reads as this text of code, or is not there. */
function untilCode(tools: FolderOfTools, name: string, code: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = async (): Promise<void> => {
      const unit = await tools.read(name);
      if ((unit?.kind === "changed" ? unit.spec.code : unit?.kind) !== code) return;
      stop();
      resolve();
    };
    const stop = tools.onChange((changed) => void (changed === name && look().catch(reject)));
  });
}

describe("a folder of tools", () => {
  it("has files with code, and folders with code and manifest", async () => {
    await using folder = await makeFolder();
    await folder.write("weather.py", "x = 1");
    await folder.write("README.md", "mine");
    await folder.write(".hidden.py", "x = 1");
    await mkdir(join(folder.root, "memo.create"));
    await folder.write("memo.create/tool.ts", "export {}");
    await folder.write("memo.create/tool.json", '{ "timeoutMs": 5 }');
    await mkdir(join(folder.root, "docs"));
    using tools = folder.open();
    expect(tools.names()).toEqual(["memo.create", "weather"]);
    expect(await tools.read("weather")).toEqual({ kind: "changed", spec: { language: "python", code: "x = 1" }, file: "weather.py" });
    expect(await tools.read("memo.create")).toEqual({
      kind: "changed",
      spec: { language: "typescript", code: "export {}", timeoutMs: 5 },
    });
    for (const name of ["absent", "docs", "README", "..", "../x", ".hidden", "weather.py", "a\0b"])
      expect(await tools.read(name)).toBeUndefined();
  });

  it("says what is wrong with a unit, and has the others", async () => {
    await using folder = await makeFolder();
    await folder.write("good.sh", "true");
    await folder.write("two.py", "x = 1");
    await folder.write("two.sh", "true");
    await symlink("/etc/passwd", join(folder.root, "link.py"));
    await mkdir(join(folder.root, "bad"));
    await folder.write("bad/tool.py", "x = 1");
    await folder.write("bad/tool.json", "{\n,");
    await mkdir(join(folder.root, "good"));
    using tools = folder.open();
    expect(tools.names()).toEqual(["bad", "good", "link", "two"]);
    const problems = await Promise.all(["bad", "link", "two"].map((name) => tools.read(name)));
    expect(problems).toMatchObject([
      { kind: "invalid", problem: { file: "tool.json", line: 2 } },
      { kind: "invalid", problem: { file: "link.py" } },
      { kind: "invalid", problem: { file: "two.sh" } },
    ]);
    expect(await tools.read("good")).toMatchObject({ kind: "changed" });
  });

  it("tells of every change, and writes nothing", async () => {
    await using folder = await makeFolder();
    using tools = folder.open();
    const steps: readonly (readonly [string, string | undefined, () => Promise<unknown>])[] = [
      ["weather", "1", () => folder.write("weather.py", "1")],
      ["weather", "2", () => folder.write("weather.py", "2")],
      ["weather", "3", () => folder.write("w", "3").then(() => rename(join(folder.root, "w"), join(folder.root, "weather.py")))],
      ["weather", undefined, () => unlink(join(folder.root, "weather.py"))],
      ["memo", "4", () => mkdir(join(folder.root, "memo")).then(() => folder.write("memo/tool.js", "4"))],
      ["memo", "5", () => folder.write("memo/tool.js", "5")],
      ["memo", "invalid", () => folder.write("memo/tool.json", "{")],
      ["memo", undefined, () => rm(join(folder.root, "memo"), { recursive: true })],
    ];
    for (const [name, code, change] of steps) {
      const told = untilCode(tools, name, code);
      await change();
      await told;
    }
    expect(await readdir(folder.root)).toEqual([]);
    expect(folder.problems).toEqual([]);
  });

  it("must be there", async () => {
    await using folder = await makeFolder();
    await folder.write("file", "");
    for (const path of ["absent", "file"])
      expect(() => openFolderOfTools({ folder: join(folder.root, path), report: () => undefined })).toThrow(
        expect.objectContaining({ code: "FILE_IO" }),
      );
  });
});
