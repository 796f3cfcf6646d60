import type { Writable } from "node:stream";
import type { Config } from "../config/config.ts";

export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** One JSON line an entry, in pino's shape, on stderr: stdout may carry MCP. */
export function createLog(stderr: Writable, level: Config["logLevel"]): Log {
  const write = (name: "info" | "error", fields: Readonly<Record<string, unknown>>, message: string) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return;
    stderr.write(
      `${JSON.stringify({ level: name, time: new Date().toISOString(), msg: message, ...fields, err: describe(fields["err"]) })}\n`,
    );
  };
  return {
    info: (fields, message) => write("info", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}

function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return { type: error.name, message: error.message, stack: error.stack, cause: describe(error.cause) };
}
