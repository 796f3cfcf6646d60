import { execFile } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { openBaseTemplate } from "../../src/runtime/namespace/template/base-template.ts";

const run = promisify(execFile);

/** Whether `path` leads to something when `/usr` is the host's and all else the root layer. */
function resolvesInside(rootLayer: string, path: string, hops = 0): boolean {
  if (hops > 40) return false;
  let done = "";
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  for (const [index, part] of parts.entries()) {
    done = part === ".." ? done.slice(0, done.lastIndexOf("/")) : `${done}/${part}`;
    const real = done === "/usr" || done.startsWith("/usr/") ? done : join(rootLayer, done);
    const stat = lstatSync(real, { throwIfNoEntry: false });
    if (!stat) return false;
    if (!stat.isSymbolicLink()) continue;
    const target = readlinkSync(real);
    const base = target.startsWith("/") ? target : `${done.slice(0, done.lastIndexOf("/"))}/${target}`;
    return resolvesInside(rootLayer, [base, ...parts.slice(index + 1)].join("/"), hops + 1);
  }
  return true;
}

it("lets every link of this host's /usr that leads through /etc end where it ends outside", async () => {
  const home = await mkdtemp(join(tmpdir(), "belljar-template-"));
  try {
    const [rootLayer = ""] = (await openBaseTemplate({ home })).rootLayers;
    const { stdout } = await run(
      "find",
      ["/usr", "-xdev", "-type", "l", "(", "-lname", "/etc/*", "-o", "-lname", "*../etc/*", ")", "-print0"],
      { maxBuffer: 1 << 26 },
    ).catch((error: { stdout: string }) => error);
    const links = stdout.split("\0").filter((path) => path !== "" && existsSync(path));
    expect(links.filter((path) => !resolvesInside(rootLayer, path))).toEqual([]);
    expect(links.length).toBeGreaterThan(0);
    const tools = ["/usr/bin/awk", "/usr/bin/cc", "/usr/bin/java"].filter((path) => existsSync(path));
    expect(tools.filter((path) => !resolvesInside(rootLayer, path))).toEqual([]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
