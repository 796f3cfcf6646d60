import type { Writable } from "node:stream";
import { isSecretName, redactText } from "../audit/redact.ts";
import type { Config } from "../config/config.ts";
import { BelljarError } from "../errors.ts";
import { printableJson } from "../files/printable.ts";
import { openRollingFile } from "./rolling-file.ts";

export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const DEPTH_MAX = 8;

/**
 * Creates a log with one line of JSON for each entry, in pino's format. Recognisable secrets are redacted. It writes to stderr, because
 * stdout may carry MCP, or to `logFile`. Throws `CONFIG_INVALID` if the file cannot be written.
 */
export function createLog(stderr: Writable, { logLevel, logFile }: Pick<Config, "logLevel" | "logFile">): Log {
  const writeLine = logFile === undefined ? (line: string) => void stderr.write(line) : fileWriter(stderr, logFile);
  const write = (name: "info" | "warn" | "error", fields: Readonly<Record<string, unknown>>, message: string) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(logLevel)) return;
    const entry = clean({ level: name, time: new Date().toISOString(), msg: message, ...fields }, 0);
    writeLine(`${printableJson(JSON.stringify(entry))}\n`);
  };
  return {
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}

/** If the file cannot be written later, the line goes to stderr. No call fails because of its log. */
function fileWriter(stderr: Writable, path: string): (line: string) => void {
  const file = openLogFile(path);
  return (line) => {
    try {
      file.append(line);
    } catch {
      stderr.write(line);
    }
  };
}

function openLogFile(path: string): ReturnType<typeof openRollingFile> {
  try {
    const file = openRollingFile(path);
    file.append("");
    return file;
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `The log file ${path} cannot be written: name another with logFile (BELLJAR_LOG_FILE)`, {
      cause,
    });
  }
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === "string") return redactText(value);
  if (value instanceof Error) return clean({ type: value.name, message: value.message, stack: value.stack, cause: value.cause }, depth);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEPTH_MAX) return "...";
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isSecretName(name) && inner !== undefined ? "[redacted]" : clean(inner, depth + 1),
    ]),
  );
}
