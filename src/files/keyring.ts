import { spawn } from "node:child_process";
import { once } from "node:events";

/** Where keys of the home may lie: the keyring that a desktop unlocks with the user's login. */
export interface Keyring {
  /** False when there is none here, or it does not answer. */
  store(id: string, key: string): Promise<boolean>;
  /** Undefined when it has none, is locked, or does not answer. */
  lookup(id: string): Promise<string | undefined>;
  clear(id: string): Promise<void>;
}

/** A keyring may ask a person to unlock it. */
const WAIT_MS = 30_000;
const OUTPUT_MAX_BYTES = 4096;

/** The Secret Service (GNOME Keyring, KWallet, KeePassXC) through libsecret's `secret-tool`; the key goes through pipes alone. */
export function openKeyring(tool = "secret-tool", waitMs = WAIT_MS): Keyring {
  const attributes = (id: string): readonly string[] => ["application", "belljar", "key", id];
  const ask = (argv: readonly string[], input = "") => runTool([tool, ...argv], input, waitMs);
  return {
    store: async (id, key) => (await ask(["store", "--label=Belljar", ...attributes(id)], key)) !== undefined,
    lookup: async (id) => (await ask(["lookup", ...attributes(id)])) || undefined,
    clear: async (id) => void (await ask(["clear", ...attributes(id)])),
  };
}

/** What it printed, or undefined when it failed in any way. */
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
    // There is no such program on this machine.
    return undefined;
  }
}
