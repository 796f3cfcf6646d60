import { homedir } from "node:os";
import { join } from "node:path";
import { openOnce } from "../../async/open-once.ts";
import { openJsonSchemas } from "../../catalog/json-schemas.ts";
import type { Config } from "../../config/config.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import { Hub } from "../../mcp/proxy/hub.ts";
import { readHubFile } from "../../mcp/proxy/hub-file.ts";
import { PackagePrograms } from "../../mcp/proxy/prepare/package-programs.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import { lookOnHost } from "./look-on-host.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import type { Templates } from "../../template/templates.ts";
import { readPackage } from "./package-root.ts";
import { serverImages } from "./server-images.ts";
import { serverSecrets } from "./server-secrets.ts";

export interface HubOptions {
  /** The file that the command line names. */
  readonly file: string;
  readonly config: Config;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots">;
  readonly secrets: Pick<SecretStore, "reveal">;
  readonly templates: () => Promise<Pick<Templates, "list">>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly report: (problem: string) => void;
}

/** Begins to start the servers of a configuration. Rejects with `CONFIG_INVALID` for one that cannot be read. Disposing it ends them. */
export async function openHub({ file, config, sandboxes, secrets, templates, env, report }: HubOptions): Promise<Hub> {
  const text = await loadConfigText(file);
  const scope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
  const schemas = openOnce(() => openJsonSchemas());
  const { prefix, idleMs, listMax, concurrency, queue } = config.mcp;
  const { indexUrl, registryUrl } = config.tools;
  const programs = new PackagePrograms({ sandboxes, folder: join(config.home, "server-packages"), indexUrl, registryUrl, report });
  return new Hub(await readHubFile(text, file, scope), {
    sandboxes,
    programs,
    secrets: serverSecrets(secrets),
    images: serverImages(templates),
    version: readPackage().version,
    schemas,
    prefix,
    idleMs,
    listMax,
    concurrency,
    queue,
    report,
  });
}
