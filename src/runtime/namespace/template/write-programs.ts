import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { INSIDE } from "../../../protocol/inside.ts";
import { absentIs } from "./copy-rows.ts";
import type { TemplateOptions } from "./build-template.ts";
import type { LayerWriter } from "./layer.ts";

/** The program of that name in `kernels`, as a command. */
export const MCP_GATEWAY = "mcp-gateway";

/** E2B's clients show what it says on stderr when it fails. */
const MCP_GATEWAY_SCRIPT = `#!/bin/sh
if ! command -v node >/dev/null; then
  echo "mcp-gateway: there is no node in this sandbox, which it needs: make it from a template that has Node.js" >&2
  exit 1
fi
exec node ${INSIDE.kernels}/${MCP_GATEWAY}.mjs "$@"
`;

/** Writes Belljar's own programs into a folder of the layer, `kernels` and `bin` of which are there. */
export async function writePrograms(
  layer: LayerWriter,
  folder: string,
  { kernels, programs = {} }: Pick<TemplateOptions, "kernels" | "programs">,
): Promise<void> {
  if (kernels !== undefined) {
    await copyKernelsIfPresent(layer, { folder: join(folder, "kernels"), kernels });
    await layer.file(join(folder, "bin", MCP_GATEWAY), MCP_GATEWAY_SCRIPT, { mode: 0o755 });
  }
  for (const [name, from] of Object.entries(programs)) await layer.copy(join(folder, "bin", name), from, { mode: 0o755 });
}

/** A copy and no bind: a bind would show in the sandbox's mount table where Belljar lies on the host. */
async function copyKernelsIfPresent(
  layer: LayerWriter,
  { folder, kernels }: { readonly folder: string; readonly kernels: string },
): Promise<void> {
  for (const entry of await absentIs([], readdir(kernels, { withFileTypes: true }))) {
    const [to, from] = [join(folder, entry.name), join(kernels, entry.name)];
    if (entry.isFile()) await layer.file(to, await readFile(from));
    if (!entry.isDirectory()) continue;
    await layer.folder(to);
    await copyKernelsIfPresent(layer, { folder: to, kernels: from });
  }
}
