import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { copyOut } from "../../../src/sandbox/workspace/copy-out.ts";
import { openWorkspaceLab } from "../../support/workspace-lab.ts";

const folders = (levels: number, name = "d"): string => Array.from({ length: levels }, () => name).join("/");
const DEEP = folders(200);
const REASON = "with all that lies in it: it lies 200 levels deep";
const LONG_ABOVE = folders(14, "n".repeat(246));
const LONG = `${LONG_ABOVE}/${"n".repeat(246)}`;

describe("a folder 200 levels deep", () => {
  it("is named and left out, and the rest is compared and applied", async () => {
    await using lab = openWorkspaceLab();
    lab.onHost({ "a.txt": "old\n" });
    for (const path of [folders(199), LONG_ABOVE]) mkdirSync(join(lab.work, path), { recursive: true });
    const sandbox = await lab.open();
    await lab.inside(
      sandbox,
      `mkdir -p ${DEEP}/more ${LONG}; echo new > a.txt; echo f > ${DEEP}/file; echo f > ${folders(199)}/file; echo l > ${LONG}/file`,
    );
    const diff = await lab.diff(sandbox);
    expect(diff.skipped).toEqual([
      { path: DEEP, reason: REASON },
      { path: expect.stringMatching(/^n{246}\//), reason: expect.stringContaining("more than 3700 bytes") },
    ]);
    expect(diff.changes.map(({ path }) => path)).toEqual(["a.txt", `${folders(199)}/file`]);
    await lab.apply(sandbox, diff);
    expect(readFileSync(join(lab.work, "a.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(join(lab.work, folders(199), "file"), "utf8")).toBe("f\n");
    expect(existsSync(join(lab.work, DEEP))).toBe(false);
    expect(existsSync(join(lab.work, LONG))).toBe(false);
  });

  it("stays on the host with all above it, when the sandbox removes it", async () => {
    await using lab = openWorkspaceLab();
    mkdirSync(join(lab.work, DEEP, "more"), { recursive: true });
    writeFileSync(join(lab.work, DEEP, "more/file"), "kept");
    lab.onHost({ "d/f": "gone\n", "a.txt": "old\n" });
    const sandbox = await lab.open();
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], skipped: [{ path: DEEP, reason: REASON }] });
    await lab.inside(sandbox, "rm -r d; echo new > a.txt");
    const diff = await lab.diff(sandbox);
    expect(diff.changes.map(({ path, kind }) => [path, kind])).toEqual([
      ["a.txt", "modified"],
      ["d/f", "removed"],
    ]);
    await lab.apply(sandbox, diff);
    expect(readFileSync(join(lab.work, DEEP, "more/file"), "utf8")).toBe("kept");
  });

  it("is no conflict with the sandbox's file in the place of a folder above it: that file is left out", async () => {
    await using lab = openWorkspaceLab();
    mkdirSync(join(lab.work, DEEP, "more"), { recursive: true });
    const sandbox = await lab.open();
    await lab.inside(sandbox, "rm -r d; echo file > d");
    const diff = await lab.diff(sandbox);
    expect(diff.changes.map(({ path }) => path)).not.toContain("d");
    expect(diff.conflicts.map(({ change }) => change.path)).toContain("d");
  });

  it("is named by a copy to the host, which copies nothing", async () => {
    await using lab = openWorkspaceLab();
    const sandbox = await lab.open();
    await lab.inside(sandbox, `mkdir -p top/${DEEP}`);
    const copied = copyOut(sandbox, {
      from: `${sandbox.inside.workspace}/top`,
      to: join(lab.home, "out"),
      signal: new AbortController().signal,
    });
    await expect(copied).rejects.toMatchObject({ code: "PATH_INVALID", message: expect.stringContaining(`${DEEP} is left out ${REASON}`) });
    expect(existsSync(join(lab.home, "out"))).toBe(false);
  });
});
