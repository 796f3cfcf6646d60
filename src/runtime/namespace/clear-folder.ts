import { spawn } from "node:child_process";
import { BelljarError } from "../../errors.ts";
import { unavailable } from "./spawner.ts";

const EXIT_ALIVE = 3;
/** What takes longer than this is told to the caller, and tried again by the next sweep: what was cleared stays cleared. */
const CLEAR_MS = 60_000;

/** Clears a sandbox's folder when its keeper is gone; false while the keeper lives. Rejects with `RUNTIME_FAILED`. */
export function clearFolder(binary: string, spec: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, ["clear"], {
      stdio: ["pipe", "ignore", "pipe"],
      env: {},
      cwd: "/",
      timeout: CLEAR_MS,
      killSignal: "SIGKILL",
    });
    child.stdin.on("error", () => {}).end(spec);
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => void (text = (text + chunk.toString()).slice(0, 1_000)));
    child.once("error", (cause) => reject(unavailable(cause)));
    child.once("close", (code, signal) => {
      if (code === 0) resolve(true);
      else if (code === EXIT_ALIVE) resolve(false);
      else
        reject(
          new BelljarError(
            "RUNTIME_FAILED",
            `The remains of a sandbox could not be removed: ${text.trim() || (signal ? `it took longer than ${CLEAR_MS / 1_000} s` : `exit code ${code}`)}`,
          ),
        );
    });
  });
}
