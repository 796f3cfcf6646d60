import type { E2bLab } from "./e2b-lab.ts";

/** The sandboxes of E2B's clients, as their owner's other token reaches them. */
export interface E2bInside {
  /** Stdout of a shell's script in the sandbox. Rejects if it fails. */
  run(id: string, script: string): Promise<string>;
  /** Resolves once the sandbox is in this state, told by the server's events. */
  until(id: string, state: string): Promise<void>;
}

export async function openE2bInside(lab: E2bLab, name = "agent"): Promise<E2bInside> {
  const { stdout } = await lab.cli.run(["token", "create", name]);
  const env = { BELLJAR_URL: lab.url, BELLJAR_TOKEN: stdout.trim() };
  const text = async (argv: readonly string[]): Promise<string> => {
    const result = await lab.cli.run(argv, { env });
    if (result.code !== 0) throw new Error(`belljar ${argv.join(" ")}: ${result.stderr}`);
    return result.stdout.trim();
  };
  return {
    run: (id, script) => text(["exec", id, "--", "sh", "-c", script]),
    async until(id, wanted) {
      for (;;) {
        await using events = lab.cli.start(["sandbox", "events", "--json"], { env });
        await events.firstOutput();
        const { state } = JSON.parse(await text(["sandbox", "info", id, "--json"])) as { readonly state: string };
        if (state === wanted) return;
        await events.prints(new RegExp(`"(?:changed|ended)","sandbox":"${id}"`));
      }
    },
  };
}
