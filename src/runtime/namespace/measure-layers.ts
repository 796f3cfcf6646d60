import { spawn } from "node:child_process";
import { BelljarError } from "../../errors.ts";
import { unavailable } from "./spawner.ts";

/** The program ends its count before. */
const MEASURE_MS = 60_000;
const EXIT_NO_LAYERS = 5;
const TEXT_MAX = 1_000;

function cancelled(cause: unknown): BelljarError {
  return new BelljarError("CANCELLED", "The files of a sandbox were not measured: the caller cancelled", { cause });
}

/** How many bytes a sandbox's files take; undefined if they are gone. Another process counts. Rejects with `RUNTIME_FAILED`. */
export function measureLayers(binary: string, spec: Buffer, signal: AbortSignal): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, ["measure"], { env: {}, cwd: "/", timeout: MEASURE_MS, killSignal: "SIGKILL", signal });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].on("data", (chunk: Buffer) => void (said[name] = (said[name] + chunk.toString()).slice(0, TEXT_MAX)));
    child.stdin.on("error", () => {}).end(spec);
    child.once("error", (cause) => reject(signal.aborted ? cancelled(cause) : unavailable(cause)));
    child.once("close", (code) => {
      const bytes = /^(\d{1,15})\n$/.exec(said.stdout)?.[1];
      if (code === EXIT_NO_LAYERS) resolve(undefined);
      else if (code === 0 && bytes !== undefined) resolve(Number(bytes));
      else
        reject(
          new BelljarError("RUNTIME_FAILED", `The files of a sandbox cannot be measured: ${said.stderr.trim() || `exit code ${code}`}`),
        );
    });
  });
}
