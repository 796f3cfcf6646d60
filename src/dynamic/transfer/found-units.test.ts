import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { exportUnit } from "./export-units.ts";
import type { FoundUnit } from "./found-unit.ts";
import { findUnits } from "./found-units.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "bj-units-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const SPEC = { language: "python", code: "x = 1\n", network: "none", tests: [{ arguments: {}, expect: { text: "1" } }] } as const;

async function find(path: string): Promise<readonly FoundUnit[]> {
  const found: FoundUnit[] = [];
  for await (const unit of findUnits(path, () => undefined)) found.push(unit);
  return found;
}

function writeRows(rows: unknown): string {
  const file = join(folder, "mcp-tool.json");
  writeFileSync(file, typeof rows === "string" || Buffer.isBuffer(rows) ? rows : JSON.stringify(rows));
  return file;
}

it("finds what was exported, in a folder of several units and in that of one", async () => {
  const own = await exportUnit(folder, "météo.1", SPEC);
  await exportUnit(folder, "other", { language: "shell", code: "true\n" });
  const found = { name: "météo.1", found: { kind: "changed", spec: SPEC } };
  expect(await find(folder)).toEqual([found, { name: "other", found: { kind: "changed", spec: { language: "shell", code: "true\n" } } }]);
  expect(await find(own)).toEqual([found]);
});

it("leaves no code of another language behind, and writes through no link", async () => {
  await exportUnit(folder, "one", SPEC);
  await exportUnit(folder, "one", { language: "shell", code: "true\n" });
  expect(await find(folder)).toMatchObject([{ found: { kind: "changed", spec: { language: "shell" } } }]);
  mkdirSync(join(folder, "elsewhere"));
  symlinkSync(join(folder, "elsewhere"), join(folder, "linked"));
  await expect(exportUnit(folder, "linked", SPEC)).rejects.toMatchObject({ code: "FILE_IO" });
  await expect(exportUnit(folder, ".hidden", SPEC)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(exportUnit(folder, "é".repeat(200), SPEC)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("replaces no code that was not exported", async () => {
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src/tool.ts"), "mine");
  await expect(exportUnit(folder, "src", SPEC)).rejects.toMatchObject({
    code: "FILE_EXISTS",
    message: expect.stringContaining("src/tool.ts"),
  });
  expect([readdirSync(join(folder, "src")), readFileSync(join(folder, "src/tool.ts"), "utf8")]).toEqual([["tool.ts"], "mine"]);
});

it("takes a folder with code alone for the unit of the folder's name", async () => {
  const own = join(folder, "weather");
  mkdirSync(own);
  writeFileSync(join(own, "tool.py"), "x = 1\n");
  const found = { name: "weather", found: { kind: "changed", spec: { language: "python", code: "x = 1\n" } } };
  expect([await find(own), await find(folder)]).toEqual([[found], [found]]);
});

it("refuses a folder that has no unit, and names the file of MCP Box that is there", async () => {
  const refused = (path: string, message: string) =>
    expect(find(path)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(message) });
  await refused(folder, "has no tools");
  const hidden = join(folder, ".hidden");
  mkdirSync(hidden);
  writeFileSync(join(hidden, "tool.py"), "x = 1\n");
  for (const path of [hidden, folder]) await refused(path, "has no tools");
  await refused(folder, `name the file ${writeRows([])}`);
});

it("follows no link, and says so", async () => {
  await exportUnit(folder, "real", SPEC);
  symlinkSync(join(folder, "real"), join(folder, "linked"));
  symlinkSync("/etc/hostname", join(folder, "file.py"));
  const link = (file: string) => ({ kind: "invalid", problem: { file, message: expect.stringContaining("is a link") } });
  expect(await find(folder)).toEqual([
    { name: "file", found: link("file.py") },
    { name: "real", found: { kind: "changed", spec: SPEC } },
    { name: "linked", found: link("") },
  ]);
});

it("reads the rows of an mcp-tool.json one by one", async () => {
  const rows = [
    { mcp_tool_name: "memo.create", mcp_tool_code: "x = 1", user_id: "test", id: "memo.create" },
    { mcp_tool_name: "memo.create", mcp_tool_code: "x = 2" },
    { mcp_tool_name: "empty", mcp_tool_code: "" },
    { mcp_tool_name: 5 },
    null,
    { mcp_tool_name: "long", mcp_tool_code: "x".repeat(2 ** 20 + 1) },
    { mcp_tool_name: "n".repeat(10_000), mcp_tool_code: "x = 1" },
  ];
  const refused = (file: string, message: string) => ({ kind: "invalid", problem: { file, message: expect.stringContaining(message) } });
  expect(await find(writeRows(`\uFEFF${JSON.stringify(rows)}`))).toEqual([
    { name: "memo.create", found: { kind: "changed", spec: { language: "python", code: "x = 1" } } },
    { name: "memo.create", found: refused("row 2", "same name") },
    { name: "empty", found: refused("row 3", "no code") },
    { name: "row 4", found: refused("row 4", "mcp_tool_name") },
    { name: "row 5", found: refused("row 5", "mcp_tool_name") },
    { name: "long", found: refused("row 6", "bytes") },
    { name: "n".repeat(100), found: refused("row 7", "100 characters") },
  ]);
});

it.each([
  ["no JSON", "["],
  ["an object", {}],
  ["too many rows", Array(2_001).fill({})],
  ["very many brackets", "[".repeat(300_000)],
  ["too many bytes", " ".repeat(33 * 1_048_576)],
  ["bytes that are no UTF-8", Buffer.from('[{"mcp_tool_name":"caf\u00e9","mcp_tool_code":"x = 1"}]', "latin1")],
])("refuses a file with %s", async (_what, rows) => {
  await expect(find(writeRows(rows))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("takes deep brackets for a row that is none", async () => {
  const deep = writeRows("[".repeat(50_000) + "]".repeat(50_000));
  expect(await find(deep)).toMatchObject([{ name: "row 1", found: { kind: "invalid" } }]);
});

it("waits for no writer of a pipe, and names what is not there", async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  await expect(find(pipe)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(find(join(folder, "absent"))).rejects.toMatchObject({ code: "FILE_IO" });
});
