import { BelljarError } from "../errors.ts";
import { printable } from "../files/printable.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

const INSTALL_MS = 300_000;
const SAID_CHARACTERS = 2_000;

/** What an install works with. */
export interface Installing {
  readonly sandbox: Sandbox;
  readonly signal: AbortSignal;
  /** The packages and where they come from, as a person names them. */
  readonly named: string;
}

export interface InstallerRun {
  readonly installer: "pip" | "npm";
  readonly argv: readonly string[];
  readonly cwd?: string;
  /** Succeeds where the installer is there. */
  readonly probe: readonly string[];
}

/** Installs begin with the template `base`, which has what the host has in /usr. */
const REMEDIES: Readonly<Record<InstallerRun["installer"], string>> = {
  pip: "install it on the host of Belljar (on Debian the package python3-pip), and try again",
  npm: "install it on the host of Belljar (below /usr, as the packages nodejs and npm do), and try again",
};

/** Rejects with `TOOL_DEPENDENCIES_FAILED`, which names the packages and says what the installer said. */
export async function runInstaller({ sandbox, signal, named }: Installing, { installer, argv, cwd, probe }: InstallerRun): Promise<void> {
  const missing = (cause?: unknown): BelljarError =>
    failed(named, `the template has no ${installer}: ${REMEDIES[installer]}, or do without packages`, cause);
  const run = (command: readonly string[]) =>
    sandbox.guest.run({ argv: command, signal, timeoutMs: INSTALL_MS, ...(cwd !== undefined && { cwd }) }).catch((cause: unknown) => {
      throw cause instanceof BelljarError && cause.code === "COMMAND_NOT_FOUND" ? missing(cause) : cause;
    });
  const { exitCode, timedOut, stderr, stdout } = await run(argv);
  if (timedOut) throw failed(named, `the install took longer than ${INSTALL_MS / 60_000} minutes`);
  if (exitCode === 0) return;
  if ((await run(probe)).exitCode !== 0) throw missing();
  const said = `${stdout.toString("utf8")}\n${stderr.toString("utf8")}`.trim().slice(-SAID_CHARACTERS);
  throw failed(named, `${installer} says: ${said.split("\n").map(printable).join("\n")}`);
}

export function failed(named: string, why: string, cause?: unknown): BelljarError {
  return new BelljarError("TOOL_DEPENDENCIES_FAILED", `These packages cannot be installed: ${named}. Reason: ${why}`, { cause });
}
