import { join } from "node:path";
import { INSIDE } from "../../../protocol/inside.ts";
import { templateFolder, type TemplateOptions } from "./build-template.ts";
import { BARE_ETC_FILES } from "./etc-files.ts";
import { fingerprintPrograms } from "./fingerprint.ts";
import { createLayer } from "./layer.ts";
import type { Template } from "./template.ts";
import { writePrograms } from "./write-programs.ts";

/** What programs expect of any root, and where the jail mounts. An image has most of it by itself. */
const FOLDERS: Readonly<Record<string, number>> = {
  proc: 0o555,
  sys: 0o555,
  dev: 0o755,
  tmp: 0o1777,
  run: 0o755,
  "run/belljar": 0o755,
  home: 0o755,
  root: 0o700,
  opt: 0o755,
  "opt/belljar": 0o755,
  etc: 0o755,
  var: 0o755,
  "var/tmp": 0o1777,
};

/**
 * A root without programs, for the layers of an image to lie on. Belljar's own programs are no part of it: they lie over the image, so that
 * nothing in it can take their place.
 */
export async function openBareTemplate(options: TemplateOptions): Promise<Template> {
  const fingerprint = fingerprintPrograms(options);
  const fill = async (building: string): Promise<void> => {
    await buildRoot(join(building, "root"), options);
    await buildPrograms(join(building, "programs"), options);
  };
  const folder = await templateFolder({ name: "bare", fingerprint, fill }, options);
  return {
    name: "bare",
    fingerprint,
    rootLayers: [join(folder, "root")],
    usrLayers: [],
    env: { PATH: `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${INSIDE.executables}` },
    binds: [],
    user: INSIDE.root,
    folders: { home: INSIDE.rootHome, workspace: INSIDE.rootHome, cwd: "/" },
    programs: join(folder, "programs"),
  };
}

async function buildRoot(path: string, { canonicalUid }: TemplateOptions): Promise<void> {
  const layer = await createLayer(path, canonicalUid);
  for (const [name, mode] of Object.entries(FOLDERS)) await layer.folder(name, { mode });
  await layer.folder(INSIDE.userHome, { owner: INSIDE.userId });
  for (const [name, content] of Object.entries(BARE_ETC_FILES)) await layer.file(join("etc", name), content);
}

async function buildPrograms(path: string, options: TemplateOptions): Promise<void> {
  const layer = await createLayer(path, options.canonicalUid);
  for (const name of ["bin", "kernels"]) await layer.folder(name);
  await writePrograms(layer, "", options);
}
