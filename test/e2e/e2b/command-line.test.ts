import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { e2bClientPath, installE2bClients } from "../../support/e2b-clients.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";
import { openTerminal } from "../../support/person-terminal.ts";

const reason = await installE2bClients();
const PROGRAM = e2bClientPath("@e2b/cli/dist/index.js");

/** What its user sets. It keeps its settings in the home of its user, and asks for newer releases of itself unless npm runs it. */
function settings({ key, url, cli }: E2bLab): Readonly<Record<string, string>> {
  return { HOME: cli.folder, E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url, npm_config_user_agent: "npm" };
}

function runE2b(lab: E2bLab, ...argv: readonly string[]) {
  const running = promisify(execFile)(process.execPath, [PROGRAM, ...argv], { env: { ...process.env, ...settings(lab) } });
  // It hands its own input on, and waits for the end of it.
  running.child.stdin?.end();
  return running;
}

it.skipIf(reason !== undefined)(
  `E2B's command line lists, connects to, runs commands in and kills sandboxes${reason === undefined ? "" : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  async () => {
    await using lab = await openE2bLab();
    const { sandboxId: id } = await Sandbox.create({ ...lab.options, metadata: { job: "7" } });
    const listed = JSON.parse((await runE2b(lab, "sandbox", "list", "--format", "json")).stdout) as unknown;
    expect(listed).toMatchObject([{ sandboxId: id, templateId: "base", state: "running", metadata: { job: "7" } }]);
    expect((await runE2b(lab, "sandbox", "exec", "-u", "root", id, "id", "-un")).stdout).toBe("root\n");
    await expect(runE2b(lab, "sandbox", "exec", id, "sh", "-c", "exit 7")).rejects.toMatchObject({ code: 7 });

    await using terminal = openTerminal([PROGRAM, "sandbox", "connect", id], { cwd: lab.cli.folder, env: settings(lab) });
    await terminal.shows(/\$ /);
    terminal.type("echo $(id -un)=$((6*7)) $(stty size)\r");
    await terminal.shows(/user=42 30 100/);
    terminal.type("exit\r");
    const { code, shown } = await terminal.end();
    expect([code, shown]).toEqual([0, expect.stringContaining("Closing terminal connection") as string]);

    const { sandboxId: other } = await Sandbox.create(lab.options);
    expect((await runE2b(lab, "sandbox", "kill", other)).stdout).toContain("has been killed");
    expect((await runE2b(lab, "sandbox", "kill", other)).stderr).toContain("wasn't found");
    const left = JSON.parse((await runE2b(lab, "sandbox", "list", "--format", "json")).stdout) as { readonly sandboxId: string }[];
    expect(left.map(({ sandboxId }) => sandboxId)).not.toContain(other);
  },
);
