import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { PackagePrograms } from "../../mcp/proxy/prepare/package-programs.ts";
import type { InstanceParts } from "../../mcp/proxy/server-instance.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import type { Templates } from "../../template/templates.ts";
import { readPackage } from "./package-root.ts";
import { serverImages } from "./server-images.ts";
import { serverSecrets } from "./server-secrets.ts";

export interface ServerPartsOptions {
  readonly config: Pick<Config, "home" | "tools">;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots">;
  readonly secrets: Pick<SecretStore, "reveal">;
  readonly templates: () => Promise<Pick<Templates, "list">>;
  readonly report: (problem: string) => void;
}

/** What MCP servers are started with in sandboxes, whoever asks for them. */
export function serverParts({
  config,
  sandboxes,
  secrets,
  templates,
  report,
}: ServerPartsOptions): InstanceParts & { readonly programs: PackagePrograms } {
  const { indexUrl, registryUrl } = config.tools;
  const programs = new PackagePrograms({ sandboxes, folder: join(config.home, "server-packages"), indexUrl, registryUrl, report });
  return { sandboxes, programs, secrets: serverSecrets(secrets), images: serverImages(templates), version: readPackage().version };
}
