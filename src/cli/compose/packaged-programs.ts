import { createRequire } from "node:module";

/** npm packages that hold a program for one platform. They are optional: without them only the tools that use them are missing. */
const PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  rg: { x64: "@vscode/ripgrep-linux-x64/bin/rg", arm64: "@vscode/ripgrep-linux-arm64/bin/rg" },
  "ast-grep": { x64: "@ast-grep/cli-linux-x64-gnu/ast-grep", arm64: "@ast-grep/cli-linux-arm64-gnu/ast-grep" },
};

/** Returns the paths of the programs for `/opt/belljar/bin` in sandboxes, by name. Missing programs are left out. */
export function findPackagedPrograms(arch: string = process.arch): Readonly<Record<string, string>> {
  const require = createRequire(import.meta.url);
  const found = Object.entries(PACKAGES).map(([name, files]) => [name, resolveIfPresent(require, files[arch])] as const);
  return Object.fromEntries(found.flatMap(([name, path]) => (path === undefined ? [] : [[name, path]])));
}

function resolveIfPresent(require: NodeJS.Require, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return require.resolve(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
