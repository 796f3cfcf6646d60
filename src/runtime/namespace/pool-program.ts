import { spawn } from "node:child_process";
import { BelljarError } from "../../errors.ts";
import { unavailable } from "./spawner.ts";

/** What the native binary does with a pool (`native/jail/pool.c`). */
export type PoolWork = "open" | "tend" | "holds";

/** Making a pool smaller may move much. It is broken off without harm. */
const WORK_MS = 10 * 60_000;
const TEXT_MAX = 1_000;
/** A line for each sandbox and layer. */
const LINES_MAX = 64 * 1024 * 1024;

/** Resolves with what it printed. `lock` becomes its descriptor 3. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED`. */
export function runPool(binary: string, [...argv]: readonly [PoolWork, ...string[]], lock?: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, ["pool", ...argv], {
      stdio: ["ignore", "pipe", "pipe", lock ?? "ignore"],
      env: {},
      cwd: "/",
      timeout: WORK_MS,
      killSignal: "SIGKILL",
    });
    const said: Buffer[] = [];
    let [length, text] = [0, ""];
    child.stdout?.on("data", (chunk: Buffer) => void ((length += chunk.length) <= LINES_MAX && said.push(chunk)));
    child.stderr?.on("data", (chunk: Buffer) => void (text = (text + chunk.toString()).slice(0, TEXT_MAX)));
    child.once("error", (cause) => reject(unavailable(cause)));
    child.once("close", (code) => {
      if (code === 0) resolve(Buffer.concat(said).toString());
      else reject(new BelljarError("RUNTIME_FAILED", `The storage pool cannot be worked on: ${text.trim() || `exit code ${code}`}`));
    });
  });
}
