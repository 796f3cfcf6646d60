import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import type { TemplateDetail, TemplateOptions } from "../../src/template/wire/template-schema.ts";
import { addShell, put } from "./image-lab.ts";
import { addImage, BlobStore, temporaryFolder, writeLayout } from "./image-maker.ts";
import { shell } from "./state-home.ts";
import { openTemplateHome, type TemplateHome } from "./template-home.ts";

const PASSWD = "root:x:0:0::/root:/bin/sh\nann:x:1234:1234::/home/ann:/bin/sh\n";

export interface BuildLab extends AsyncDisposable {
  readonly home: TemplateHome;
  /** An image with a shell, ann and `/srv/link`, which leads to `/srv/app`. Its variable `FROM_IMAGE` is `yes`. */
  readonly image: string;
  /** An empty folder, which is the context of all builds. */
  readonly context: string;
  /** What the last build said. */
  readonly log: () => string;
  /** Writes a file of the context. */
  put(path: string, content?: string, mode?: number): void;
  build(dockerfile: string, more?: Partial<TemplateOptions>, principal?: Principal): Promise<TemplateDetail>;
  /** How often the last build took over what an earlier one did. */
  hits(): number;
}

/** A home in which Dockerfiles are built. */
export async function openBuildLab(options: Parameters<typeof openTemplateHome>[0] = {}): Promise<BuildLab> {
  const home = await openTemplateHome(options);
  const folder = await temporaryFolder();
  const context = realpathSync(folder.path);
  const image = await writeShellImage();
  let log = "";
  return {
    home,
    image: image.path,
    context,
    log: () => log,
    put: (path, content, mode) => put(context, path, content, mode),
    build(dockerfile, more = {}, principal = LOCAL) {
      log = "";
      const signal = new AbortController().signal;
      return home.templates.make(principal, { name: "built", dockerfile, context, ...more }, signal, (text) => void (log += text));
    },
    hits: () => log.split("as built before").length - 1,
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
      await image[Symbol.asyncDispose]();
    },
  };
}

/** What a command prints in a sandbox that begins with the template. */
export async function inside({ home }: BuildLab, command: string, template = "built"): Promise<string> {
  const sandbox = await home.sandboxes.create(LOCAL, { template }, new AbortController().signal);
  try {
    return await shell(sandbox, command);
  } finally {
    await sandbox.kill();
  }
}

async function writeShellImage() {
  await using root = await temporaryFolder();
  addShell(root.path);
  put(root.path, "etc/passwd", PASSWD);
  put(root.path, "etc/group", "root:x:0:\nstaff:x:50:\n");
  put(root.path, "home/ann/.keep");
  chmodSync(join(root.path, "home/ann"), 0o777);
  put(root.path, "srv/app/first", "from below");
  mkdirSync(join(root.path, "srv/closed"), { mode: 0o711 });
  execFileSync("ln", ["-s", "app", join(root.path, "srv/link")]);
  const argv = ["--numeric-owner", "--owner=0", "--group=0", "-C", root.path, "-c", "."];
  const store = new BlobStore();
  const config = { Env: ["PATH=/bin", "FROM_IMAGE=yes"] };
  return writeLayout(store, [
    addImage(store, { layers: [{ plain: execFileSync("tar", argv, { maxBuffer: 2 ** 28 }) }], config: { config } }),
  ]);
}
