import { limitTime } from "../async/limit-time.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { UnitLife } from "./unit-life.ts";

/** Time for one tool to be read and its packages to be installed. */
const TOOL_MS = 600_000;
/** In characters. A row may have any name. */
const NAME_SHOWN_MAX = 100;

/** A Python tool that MCP Box has left in the store. */
export interface LeftTool {
  /** What tells it from others, such as its row's id. */
  readonly source: string;
  readonly name?: string;
  /** Absent: there is none, or it is too large for a tool. */
  readonly code?: string;
}

export interface LeftTools {
  /**
   * Gives `take` each tool that was not taken over yet, one after the other. What it resolves with is noted, and the tool is never given
   * again; undefined leaves it for another start. Of several processes one does this at a time, and the others none of it.
   */
  each(take: (tool: LeftTool) => Promise<string | undefined>, signal: AbortSignal): Promise<void>;
}

export interface TakeOverOptions {
  readonly left: LeftTools;
  readonly life: Pick<UnitLife, "add">;
  readonly report: (problem: string) => void;
}

/**
 * Adds the tools that MCP Box has left, as the local user's, live. Each is read in a sandbox as any other; one that is refused is reported
 * by its name, nothing of it is stored, and another start tries it again. Never rejects.
 */
export async function takeOver({ left, life, report }: TakeOverOptions, signal: AbortSignal): Promise<void> {
  const take = async (tool: LeftTool): Promise<string | undefined> => {
    try {
      await add(life, tool, signal);
      return "added";
    } catch (cause) {
      if (signal.aborted) return undefined;
      const message = cause instanceof Error ? cause.message : String(cause);
      report(`The tool ${JSON.stringify((tool.name ?? tool.source).slice(0, NAME_SHOWN_MAX))} of MCP Box is not taken over: ${message}`);
      // Any other reason may lie here: a busy machine, an index that is not reached, a template.
      return cause instanceof BelljarError && cause.code === "TOOL_NAME_TAKEN" ? cause.code : undefined;
    }
  };
  try {
    await left.each(take, signal);
  } catch (cause) {
    if (!signal.aborted) report(`The tools of MCP Box are not all taken over: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

async function add(life: TakeOverOptions["life"], { name, code }: LeftTool, signal: AbortSignal): Promise<void> {
  if (code === undefined) throw new BelljarError("TOOL_INVALID", "it has no code, or too much");
  using limit = limitTime(signal, TOOL_MS);
  await life.add(LOCAL, { name, spec: { language: "python", code } }, limit.signal, { publish: true });
}
