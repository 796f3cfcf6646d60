import type { AuditedCall } from "../audit/audit.ts";
import { summarise } from "../audit/audit.ts";

const LINES_MAX = 200;
const SANDBOXES_MAX = 1_000;
const ARGUMENTS_MAX = 300;

/** The last calls in each sandbox, a line each, as this process has seen them. */
export class SandboxLog {
  readonly #now: () => Date;
  /** By sandbox, least recently used first. */
  readonly #lines = new Map<string, string[]>();

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  note(sandboxId: string, call: Pick<AuditedCall, "tool" | "outcome" | "durationMs" | "arguments">): void {
    const lines = this.#lines.get(sandboxId) ?? [];
    this.#lines.delete(sandboxId);
    this.#lines.set(sandboxId, lines);
    lines.push(this.#toLine(call));
    if (lines.length > LINES_MAX) lines.shift();
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size <= SANDBOXES_MAX) break;
      this.#lines.delete(oldest);
    }
  }

  /** Oldest first, at most 200. Whoever asks must have checked whose sandbox it is. */
  lines(sandboxId: string): readonly string[] {
    return [...(this.#lines.get(sandboxId) ?? [])];
  }

  #toLine({ tool, outcome, durationMs, arguments: args }: Parameters<SandboxLog["note"]>[1]): string {
    return `${this.#now().toISOString()} ${tool} ${outcome} ${Math.round(durationMs)} ms ${summarise(args).preview.slice(0, ARGUMENTS_MAX)}`;
  }
}
