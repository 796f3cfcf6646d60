import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PoolCounts } from "../../src/sandbox/pool/pool-options.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { makeWheel, openPackageLab, type PackageLab } from "./package-lab.ts";
import { openToolsLab, textOf, type ToolsLab, type ToolsLabOptions } from "./tools-lab.ts";
import { until } from "./until.ts";

/** A home whose tools have packages, with sandboxes that wait for their calls. Disposing it ends all of them. */
export interface PackedLab extends ToolsLab {
  readonly index: PackageLab;
  readonly problems: readonly string[];
  /** The ids of those that can be claimed. */
  waiting(): readonly string[];
  /** Resolves with their ids once so many can be claimed, and this process has them ready. */
  hasWaiting(count: number): Promise<readonly string[]>;
  /** The folders of what can be claimed. */
  keys(): readonly string[];
  counts(): PoolCounts | undefined;
  /** The id of the sandbox that a call ran in, which the tool says. */
  where(tool: string, principal?: Principal): Promise<string>;
  /** Who owns a sandbox. Undefined while it waits. */
  ownerOf(id: string): string | undefined;
  /** The ids of frozen layers. */
  layers(): readonly string[];
  /** Sandboxes without an owner that anything is left of. */
  ownerless(): readonly string[];
}

/** A tool that says in which sandbox it runs: a sandbox is named by its id. */
export const whereabouts = (name: string, requirement = "tiny"): string => `# <requirements>
# ${requirement}
# </requirements>
import os, sys
import ${/^\w+/.exec(requirement)?.[0]} as packed
@mcp.tool(description="Where it runs")
def ${name}() -> str:
    return " ".join([os.uname().nodename, sys.orig_argv[-1].rsplit("/")[-1], packed.said])
`;

export async function openPackedLab(options: Omit<ToolsLabOptions, "packages" | "egress"> = {}): Promise<PackedLab> {
  const index = await openPackageLab();
  for (const name of ["tiny", "other"]) index.offer(...makeWheel(name, "1.0", `said = '${name}'\n`));
  const lab = await openToolsLab({ passing: { kinds: 4, size: 1 }, ...options, packages: index.settings, egress: index.egress });
  const problems: string[] = [];
  lab.onProblem((problem) => problems.push(problem));
  const names = (...path: string[]): readonly string[] => {
    const folder = join(lab.path, ...path);
    return existsSync(folder) ? readdirSync(folder) : [];
  };
  const waiting = () => names("waiting").flatMap((key) => names("waiting", key).filter((name) => /^[a-z0-9]{20}$/.test(name)));
  const counts = (): PoolCounts | undefined => lab.sandboxes.poolCounts().find(({ kind }) => kind === "packages");
  const has = (id: string, file: string): boolean => existsSync(join(lab.path, "sandboxes", id, file));
  return {
    ...lab,
    index,
    problems,
    waiting,
    keys: () => names("waiting"),
    counts,
    async hasWaiting(count) {
      await until(
        () => waiting().length === count && counts()?.ready === count,
        () => `${waiting().length} wait, not ${count}: ${problems.join("; ")}`,
      );
      return waiting();
    },
    async where(tool, principal) {
      const text = textOf(await lab.call(tool, {}, principal && { principal }));
      const [id = ""] = text.split(" ");
      if (!/^[a-z0-9]{20}$/.test(id)) throw new Error(`It answered ${text}`);
      return id;
    },
    ownerOf: (id) =>
      has(id, "sandbox.json")
        ? (JSON.parse(readFileSync(join(lab.path, "sandboxes", id, "sandbox.json"), "utf8")) as { owner: string }).owner
        : undefined,
    layers: () => names("layers").filter((name) => /^[a-z0-9]{20}$/.test(name)),
    ownerless: () => names("sandboxes").filter((id) => !id.startsWith(".") && !has(id, "sandbox.json") && !has(id, "tombstone.json")),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await index[Symbol.asyncDispose]();
    },
  };
}
