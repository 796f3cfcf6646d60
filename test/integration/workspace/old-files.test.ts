import { mkdtempSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openOldFiles } from "../../../src/sandbox/workspace/apply/old-files.ts";
import { HostFolder } from "../../../src/sandbox/workspace/host-folder.ts";

const OTHER = "/dev/shm";
const reason =
  statSync(OTHER, { throwIfNoEntry: false })?.dev === statSync(tmpdir()).dev ? "the folder for temporary files lies there" : undefined;

it.skipIf(reason)(
  `keeps and brings back what a copy to another file system left half done${reason ? ` (skipped: ${reason})` : ""}`,
  async () => {
    const work = realpathSync(mkdtempSync(join(tmpdir(), "belljar-old-")));
    const kept = mkdtempSync(join(OTHER, "belljar-old-"));
    try {
      writeFileSync(join(work, "file"), "old content\n", { mode: 0o640 });
      symlinkSync("file", join(work, "link"));
      for (const name of readdirSync(work)) writeFileSync(join(kept, name), "old");
      const folder = new HostFolder(work);
      const old = openOldFiles(kept, folder);
      for (const name of ["file", "link"]) {
        const before = await folder.stat(Buffer.from(name));
        if (!before) throw new Error(`${name} is not there`);
        await old.keep(name, before);
        expect(readdirSync(work)).not.toContain(name);
        expect(await old.bringBack(name, before)).toBe(true);
      }
      expect(readFileSync(join(kept, "file"), "utf8")).toBe("old content\n");
      expect([readFileSync(join(work, "file"), "utf8"), statSync(join(work, "file")).mode & 0o777]).toEqual(["old content\n", 0o640]);
      expect(readlinkSync(join(work, "link"))).toBe("file");
    } finally {
      for (const path of [work, kept]) rmSync(path, { recursive: true });
    }
  },
);
