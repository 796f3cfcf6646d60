import { createRequire } from "node:module";

/** The npm packages that hold nothing but a program for one platform; they are optional, so that a host without them loses one tool. */
const PACKAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  rg: { x64: "@vscode/ripgrep-linux-x64/bin/rg", arm64: "@vscode/ripgrep-linux-arm64/bin/rg" },
  "ast-grep": { x64: "@ast-grep/cli-linux-x64-gnu/ast-grep", arm64: "@ast-grep/cli-linux-arm64-gnu/ast-grep" },
};

/** Where the programs lie that sandboxes get at `/opt/belljar/bin`, by name; those that are not installed are left out. */
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
