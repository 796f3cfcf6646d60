import { spawn } from "node:child_process";
import { once } from "node:events";

/** A keyring of the operating system, which a desktop unlocks at login. It may hold keys of the home. */
export interface Keyring {
  /** Returns false if this machine has no keyring, or if it does not answer. */
  store(id: string, key: string): Promise<boolean>;
  /** Returns undefined if the keyring has no such key, is locked, or does not answer. */
  lookup(id: string): Promise<string | undefined>;
  clear(id: string): Promise<void>;
}

/** Long, because the keyring may ask a person to unlock it. */
const WAIT_MS = 30_000;
const OUTPUT_MAX_BYTES = 4096;

/** The Secret Service (GNOME Keyring, KWallet, KeePassXC) through libsecret's `secret-tool`. Keys pass through pipes, never in argv. */
export function openKeyring(tool = "secret-tool", waitMs = WAIT_MS): Keyring {
  const attributes = (id: string): readonly string[] => ["application", "belljar", "key", id];
  const ask = (argv: readonly string[], input = "") => runTool([tool, ...argv], input, waitMs);
  return {
    store: async (id, key) => (await ask(["store", "--label=Belljar", ...attributes(id)], key)) !== undefined,
    lookup: async (id) => (await ask(["lookup", ...attributes(id)])) || undefined,
    clear: async (id) => void (await ask(["clear", ...attributes(id)])),
  };
}

/** Returns the output of the tool, or undefined if it failed in any way. */
async function runTool([tool = "", ...argv]: readonly string[], input: string, waitMs: number): Promise<string | undefined> {
  const child = spawn(tool, argv, { stdio: ["pipe", "pipe", "ignore"], timeout: waitMs, killSignal: "SIGKILL" });
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > OUTPUT_MAX_BYTES) child.kill("SIGKILL");
    else chunks.push(chunk);
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  try {
    const [code] = (await once(child, "close")) as [number | null];
    return code === 0 ? Buffer.concat(chunks).toString("utf8").trim() : undefined;
  } catch {
    // The program does not exist on this machine.
    return undefined;
  }
}
