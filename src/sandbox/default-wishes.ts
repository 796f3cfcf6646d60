import { ShareByKey } from "../async/share-by-key.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import { formatPolicy } from "./network-ceiling.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import type { DefaultWishes } from "./sandbox.ts";
import { toShortId } from "./sandbox-id.ts";

const REMEMBERED_MAX = 10_000;
const MEBIBYTE = 2 ** 20;

/**
 * Applies what the command line of this process says to default sandboxes of the local user that live already, to each once: what a person changes after
 * that stays.
 */
export class AppliedWishes {
  /** What of the wishes could not be applied, by the id of the sandbox, oldest first. */
  readonly #unmet = new Map<string, readonly string[]>();
  readonly #applying = new ShareByKey<readonly string[]>();

  /** Resolves with a sentence for each wish that holds only for a new sandbox. */
  async apply(sandbox: LocalSandbox, wishes: DefaultWishes): Promise<readonly string[]> {
    const known = this.#unmet.get(sandbox.id);
    return known ?? this.#applying.run(sandbox.id, () => this.#applyOnce(sandbox, wishes));
  }

  /** A new sandbox was made as the command line says. */
  noteMade({ id }: Pick<LocalSandbox, "id">): void {
    this.#remember(id, []);
  }

  async #applyOnce(sandbox: LocalSandbox, wishes: DefaultWishes): Promise<readonly string[]> {
    const { network, timeoutMs, limits = {} } = wishes;
    if (network !== undefined) await applyNetwork(sandbox, network);
    if (timeoutMs !== undefined) await sandbox.liveFor(timeoutMs);
    const unmet = findUnmet(sandbox, limits);
    this.#remember(sandbox.id, unmet);
    return unmet;
  }

  #remember(id: string, unmet: readonly string[]): void {
    this.#unmet.set(id, unmet);
    for (const oldest of this.#unmet.keys()) {
      if (this.#unmet.size <= REMEMBERED_MAX) break;
      this.#unmet.delete(oldest);
    }
  }
}

async function applyNetwork(sandbox: LocalSandbox, network: NonNullable<DefaultWishes["network"]>): Promise<void> {
  const { policy, ceiling } = await sandbox.networkState();
  const wanted = formatPolicy(network);
  if (formatPolicy(policy) === wanted && formatPolicy(ceiling) === wanted) return;
  await sandbox.setNetwork(network);
}

function findUnmet({ id, record }: LocalSandbox, limits: Limits): readonly string[] {
  const differences = (Object.keys(limits) as (keyof Limits)[]).flatMap((name) => {
    const [has, wanted] = [record.limits[name], limits[name]];
    return has === wanted ? [] : [`${LIMIT_TEXTS[name]} ${showLimit(name, has)}, not ${showLimit(name, wanted)}`];
  });
  if (differences.length === 0) return [];
  const remedy = `To have it otherwise now, end it with \`belljar sandbox kill ${toShortId(id)}\`, which loses its files`;
  return [`The default sandbox was made earlier, with ${differences.join("; ")} as asked for now: that holds for the next one. ${remedy}.`];
}

const LIMIT_TEXTS: Readonly<Record<keyof Limits, string>> = {
  memoryBytes: "memory of",
  cpus: "CPU cores:",
  pids: "processes:",
  diskBytes: "disk space of",
  openFiles: "open files:",
};

function showLimit(name: keyof Limits, value: number | undefined): string {
  if (value === undefined) return "no limit";
  return name === "memoryBytes" || name === "diskBytes" ? `${Math.round(value / MEBIBYTE)} MiB` : String(value);
}
