import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { Workspace } from "../../src/runtime/contract/sandbox-spec.ts";
import type { StateStore, StateView } from "../../src/runtime/contract/state-store.ts";
import { createComparison } from "../../src/sandbox/state/compare/create-comparison.ts";
import type { Comparison } from "../../src/sandbox/state/compare/requests.ts";
import type { PointDiff } from "../../src/sandbox/wire/state-schemas.ts";
import { type ContractSandbox, createSandbox, run, soon } from "../contract/contract-sandbox.ts";
import { makeHome, type StorageName } from "./namespace-home.ts";
import { createTestTexts } from "./test-texts.ts";

const USER = "state-lab";

/** Sandboxes of a home of their own, their states, and what compares them. */
export interface StateLab extends AsyncDisposable {
  readonly states: StateStore;
  readonly comparison: Comparison;
  sandbox(options?: StateSandboxOptions): Promise<StateSandbox>;
}

export interface StateSandboxOptions {
  readonly layers?: readonly string[];
  readonly workspace?: Workspace;
  readonly root?: boolean;
}

export interface StateSandbox {
  readonly guest: Guest;
  /** As it is now. */
  readonly now: StateView;
  /** Runs a script as a user (default root), which succeeds, in the home. */
  readonly sh: (script: string, user?: string) => Promise<string>;
  readonly freeze: () => Promise<StateView & { readonly layers: readonly string[] }>;
}

export async function openStateLab(storage: StorageName): Promise<StateLab> {
  const home = await makeHome();
  const runtime = await home.open(storage);
  const { states } = runtime.layers;
  if (!states) throw new Error("this runtime freezes nothing");
  const texts = createTestTexts();
  const made: ContractSandbox[] = [];
  const held: (readonly string[])[] = [];
  return {
    states,
    comparison: createComparison(texts),
    async sandbox(options = {}) {
      const { layers, ...spec } = options;
      const sandbox = await createSandbox(async () => runtime, { ...spec, base: { template: "base", ...(layers && { layers }) } });
      made.push(sandbox);
      return stateSandbox(sandbox, async () => {
        const frozen = await states.freeze({ run: sandbox.spec, isRunning: true, durable: false, isOwn: false, user: USER }, soon());
        held.push(frozen.layers);
        return frozen.layers;
      });
    },
    async [Symbol.asyncDispose]() {
      for (const sandbox of made.toReversed()) await sandbox[Symbol.asyncDispose]();
      for (const layers of held.toReversed()) await states.letGo(layers, USER);
      texts[Symbol.dispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

function stateSandbox({ guest, spec }: ContractSandbox, freeze: () => Promise<readonly string[]>): StateSandbox {
  const now = { sandbox: { ...spec, template: spec.base.template } };
  return {
    guest,
    now,
    async sh(script, user = "root") {
      const { exitCode, stdout, stderr } = await run(guest, `set -e; cd /home/user; ${script}`, { user });
      if (exitCode !== 0) throw new Error(`the script failed: ${stderr.toString()}`);
      return stdout.toString();
    },
    freeze: async () => ({ ...now, layers: await freeze() }),
  };
}

/** A line for each change. */
export function tellDiff({ changes }: PointDiff): readonly string[] {
  return changes.map(({ kind, path, from }) => (from === undefined ? `${kind} ${path}` : `${kind} ${from} ${path}`));
}

/** Of a script: gives a path an attribute of users. */
export function setXattr(path: string, name: string, value: string): string {
  return `python3 -B -c 'import os, sys; os.setxattr(sys.argv[1], "user." + sys.argv[2], sys.argv[3].encode())' "${path}" "${name}" "${value}"`;
}

/** Of a script: a line for each attribute of each path. */
export function tellXattrs(...paths: readonly string[]): string {
  const program = `import os, sys
for path in sys.argv[1:]:
    for name in sorted(os.listxattr(path)): print(name + "=" + os.getxattr(path, name).decode())`;
  return `python3 -B -c '${program}' ${paths.join(" ")}`;
}
