import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import type { Box, BoxOptions } from "../security/support/lab.ts";
import { useLab } from "../security/support/lab.ts";
import { outside } from "../security/support/outside.ts";

/** Its install gives `ping` a file capability with `setcap`, of libcap2-bin, and makes it set-uid when that is refused. */
const PACKAGES = ["libcap2-bin", "iputils-ping"];
const DOWNLOAD_MS = 120_000;

const lab = useLab();
const isPossible = existsSync("/etc/debian_version") && existsSync("/usr/bin/apt-get") && findIdMap().kind === "slot";
let archives: readonly (readonly [name: string, content: Buffer])[] = [];

describe.skipIf(!isPossible)(
  "a package whose install calls setcap (skipped off Debian, and without root of the host, whose files in /usr nobody inside owns)",
  () => {
    beforeAll(async () => {
      archives = await download(join(dirname(lab.home), "archives"));
    }, DOWNLOAD_MS);

    it("installs in a sandbox without a workspace", () => expectInstalled({}));

    it("installs in a sandbox with a copy of a workspace", async () => {
      const path = join(dirname(lab.home), "project");
      await mkdir(path);
      await chmod(path, 0o755);
      await expectInstalled({ workspace: { path, mode: "copy" } });
    });

    it("installs in a sandbox with a workspace given as rw, and its program is not set-uid", async () => {
      const path = join(dirname(lab.home), "shared");
      await mkdir(path);
      await chmod(path, 0o755);
      await expectInstalled({ workspace: { path, mode: "rw" } }, "755");
    });
  },
);

/** From the host's own sources, with lists of its own: an ordinary user cannot renew the host's. */
async function download(folder: string): Promise<typeof archives> {
  const lists = join(folder, "lists");
  await mkdir(join(lists, "partial"), { recursive: true });
  const apt = ["apt-get", "-qq", "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${join(folder, "cache")}`];
  expect(await outside([...apt, "update"])).toMatchObject({ code: 0 });
  expect(await outside([...apt, "download", ...PACKAGES], { cwd: folder })).toMatchObject({ code: 0 });
  const names = (await readdir(folder)).filter((name) => name.endsWith(".deb"));
  expect(names).toHaveLength(PACKAGES.length);
  return Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const));
}

async function expectInstalled(options: BoxOptions, mode = "4755"): Promise<void> {
  await using box = await lab.box(options);
  const asRoot = (argv: readonly string[]): ReturnType<Box["run"]> => box.run(argv, { user: "root" });
  for (const [name, content] of archives)
    await box.guest.files.write(`/root/${name}`, content, { user: "root", signal: AbortSignal.timeout(30_000) });
  const installed = await asRoot(["dpkg", "--install", ...archives.map(([name]) => `/root/${name}`)]);
  expect(installed).toMatchObject({ code: 0, err: expect.stringMatching(/setcap failed/i) });
  expect(await asRoot(["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}|", ...PACKAGES])).toMatchObject({ out: "ii |ii |" });
  expect(await asRoot(["setcap", "cap_net_raw+ep", "/usr/bin/ping"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("not permitted"),
  });
  expect(await asRoot(["getcap", "/usr/bin/ping"])).toMatchObject({ code: 0, out: "" });
  expect(await asRoot(["stat", "-c", "%a", "/usr/bin/ping"])).toMatchObject({ out: `${mode}\n` });
  expect(await box.run(["ping", "-V"], { user: "user" })).toMatchObject({ code: 0, out: expect.stringContaining("iputils") });
}
