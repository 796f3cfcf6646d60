import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { makeWheel, openPackageLab, type PackageLab } from "../../support/package-lab.ts";
import { openToolsLab, textOf, type ToolsLab } from "../../support/tools-lab.ts";

let index: PackageLab;
let lab: ToolsLab;
beforeAll(async () => {
  index = await openPackageLab();
  index.offer(...makeWheel("tiny", "1.0", "said = 'tiny 1.0'\n"));
  lab = await openToolsLab({ packages: index.settings, egress: index.egress });
}, 120_000);
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await index?.[Symbol.asyncDispose]();
}, 60_000);
const signal = AbortSignal.timeout(600_000);
const OTHER: Principal = { id: "other", name: "other" };

const code = (name: string, requirement: string, module = "tiny"): string => `# <requirements>
# ${requirement}
# </requirements>
import ${module}
@mcp.tool(description="Says it")
def ${name}() -> str:
    return ${module}.said
`;
const prepared = () => lab.sandboxes.hiddenSnapshots.list();

it("calls a tool with its packages, which are installed once for all tools of the owner that ask for the same", async () => {
  await lab.add(code("first", "tiny"));
  expect(textOf(await lab.call("first"))).toBe("tiny 1.0");
  const asked = index.asked.length;
  await lab.add(code("second", "tiny"));
  expect(textOf(await lab.call("second"))).toBe("tiny 1.0");
  expect(index.asked.length).toBe(asked);
  expect(await prepared()).toHaveLength(1);
});

it("installs for another owner anew, and a shared tool is called from what its owner has", async () => {
  await lab.tools.add(OTHER, { name: "others", spec: { language: "python", code: code("others", "tiny") } }, signal, { publish: true });
  expect(await prepared()).toHaveLength(2);
  await lab.tools.share(LOCAL, "first", true);
  expect(textOf(await lab.call("first", {}, { principal: OTHER }))).toBe("tiny 1.0");
  expect(await prepared()).toHaveLength(2);
  await lab.tools.remove(OTHER, "others");
});

it("shows nobody what it has prepared, and nobody else starts from it", async () => {
  const [{ id, name } = { id: "", name: "" }] = await prepared();
  expect(await lab.sandboxes.snapshots.list(LOCAL)).toEqual([]);
  for (const text of [id, name]) {
    await expect(lab.sandboxes.create(LOCAL, { template: text }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
    await expect(lab.sandboxes.snapshots.fork(LOCAL, { snapshot: text }, {}, signal)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
    await expect(lab.sandboxes.snapshots.remove(LOCAL, text)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
    await expect(lab.sandboxes.holdForTemplate(LOCAL, text, "template-x", signal)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
  }
});

it("does not count what it has prepared to the owner's snapshots", async () => {
  expect((await prepared()).length).toBeGreaterThan(0);
  const few: Principal = { ...LOCAL, grants: { quotas: { snapshots: 1 } } };
  const sandbox = await lab.sandboxes.create(few, {}, signal);
  const own = await lab.sandboxes.snapshots.create(few, sandbox.id, {}, signal);
  expect(own.owner).toBe(LOCAL.id);
  await lab.sandboxes.snapshots.remove(LOCAL, own.id);
  await sandbox.kill();
});

it("brings a version its own packages again, also when they were lost and the index has newer ones", async () => {
  await lab.add(code("rolled", "tiny >= 1"));
  index.offer(...makeWheel("tiny", "2.0", "said = 'tiny 2.0'\n"));
  const newer = { name: "rolled", spec: { language: "python", code: code("rolled", "tiny>=1.5") } } as const;
  await lab.tools.update(LOCAL, newer, signal, { publish: true });
  expect(textOf(await lab.call("rolled"))).toBe("tiny 2.0");
  await lab.tools.rollback(LOCAL, "rolled", 1);
  expect(textOf(await lab.call("rolled"))).toBe("tiny 1.0");
  for (const { id } of await prepared()) await lab.sandboxes.hiddenSnapshots.remove(id);
  expect(textOf(await lab.call("rolled"))).toBe("tiny 1.0");
});

it("resolves the packages of a tool again when that is asked, and never takes them back by itself", async () => {
  index.offer(...makeWheel("fresh", "1.0", "said = 'fresh 1.0'\n"));
  await lab.add(code("fresh_one", "fresh", "fresh"));
  await lab.add(code("fresh_two", "fresh", "fresh"));
  const again = () => lab.tools.update(LOCAL, { name: "fresh_two", changes: {}, resolvesAgain: true }, signal, { publish: true });
  expect(await again(), "there are no newer ones").toMatchObject({ version: 1, newest: 1 });
  index.offer(...makeWheel("fresh", "1.1", "said = 'fresh 1.1'\n"));
  expect(await again()).toMatchObject({ version: 2, newest: 2, state: "live" });
  expect([textOf(await lab.call("fresh_one")), textOf(await lab.call("fresh_two"))]).toEqual(["fresh 1.0", "fresh 1.1"]);
  await lab.tools.update(LOCAL, { name: "fresh_two", changes: { timeoutMs: 9_000 } }, signal, { publish: true });
  expect(textOf(await lab.call("fresh_two")), "a change of something else").toBe("fresh 1.1");
  await lab.tools.rollback(LOCAL, "fresh_two", 1);
  expect(textOf(await lab.call("fresh_two"))).toBe("fresh 1.0");
});

it("refuses a package of the lock that has become another one", async () => {
  await lab.add(code("swapped", "tiny==2.0"));
  for (const { id } of await prepared()) await lab.sandboxes.hiddenSnapshots.remove(id);
  index.offer(...makeWheel("tiny", "2.0", "said = 'not what it was'\n"));
  const refused = await lab.call("swapped");
  expect(refused.isError).toBe(true);
  expect(textOf(refused)).toMatch(/^TOOL_DEPENDENCIES_FAILED: [^]*tiny==2\.0[^]*THESE PACKAGES DO NOT MATCH THE HASHES/);
});

it("removes what no version needs any more", async () => {
  index.offer(...makeWheel("brief", "1.0", "said = 'brief'\n"));
  const before = (await prepared()).map(({ id }) => id);
  for (const name of ["brief", "briefer"]) await lab.add(code(name, "brief", "brief"));
  const added = (await prepared()).filter(({ id }) => !before.includes(id));
  expect(added).toHaveLength(1);
  await lab.tools.remove(LOCAL, "brief");
  expect((await prepared()).map(({ id }) => id)).toContain(added[0]?.id);
  await lab.tools.remove(LOCAL, "briefer");
  expect((await prepared()).map(({ id }) => id)).not.toContain(added[0]?.id);
});

it("keeps nothing of a tool that cannot be kept", async () => {
  index.offer(...makeWheel("loose", "1.0", "said = 'loose'\n"));
  const before = await prepared();
  await expect(lab.add(code("read_file", "loose", "loose"))).rejects.toMatchObject({ code: "TOOL_NAME_TAKEN" });
  expect(await prepared()).toEqual(before);
});

it.each([
  ["that does not exist", "absent-package", "absent-package"],
  ["that would run code when it is installed", "built", "built"],
])("names a package %s, and keeps nothing", async (_what, requirement, named) => {
  index.offer("built-1.0.tar.gz", Buffer.from("it would be unpacked and run"));
  await expect(lab.add(code("fails", requirement))).rejects.toMatchObject({
    code: "TOOL_DEPENDENCIES_FAILED",
    message: expect.stringContaining(`No matching distribution found for ${named}`),
  });
  await expect(lab.tools.get(LOCAL, "fails")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("tells a caller without a network which scope it needs", async () => {
  const closed: Principal = { id: "closed", name: "closed", grants: { network: "none" } };
  const given = { name: "closed", spec: { language: "python", code: code("closed", "tiny") } } as const;
  await expect(lab.tools.add(closed, given, signal)).rejects.toMatchObject({
    code: "FORBIDDEN",
    message: expect.stringContaining("use a token with the scope network:http://pip.test:"),
  });
});

it("installs from a folder of wheels without any network", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bjwheels-"));
  const [file, wheel] = makeWheel("tiny", "3.0", "said = 'tiny 3.0 of a folder'\n");
  await writeFile(join(folder, file), wheel);
  const offline = await openToolsLab({ packages: { indexUrl: folder } });
  try {
    await offline.add(code("offline", "tiny"));
    await rm(folder, { recursive: true });
    expect(textOf(await offline.call("offline"))).toBe("tiny 3.0 of a folder");
    await offline.add(code("again", "tiny"));
    expect(textOf(await offline.call("again"))).toBe("tiny 3.0 of a folder");
    await expect(offline.add(code("gone", "tiny>2"))).rejects.toMatchObject({
      code: "TOOL_DEPENDENCIES_FAILED",
      message: expect.stringContaining("cannot be read"),
    });
  } finally {
    await offline[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
