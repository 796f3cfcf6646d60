import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ScriptTool } from "../harness/ask-harness.ts";
import type { CallTool } from "../harness/harness-calls.ts";
import type { OutputWindows } from "../../interpreter/output-window.ts";
import type { HarnessLanguage } from "./harness-programs.ts";

/** A program of the caller's that calls tools. What it returns is the answer. */
export interface Script {
  readonly language: HarnessLanguage;
  readonly code: string;
  /** The tools that it may call. Whoever calls them for it checks the name: a program asks for what it likes. */
  readonly tools: readonly ScriptTool[];
  readonly callTool: CallTool;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface ScriptOutcome {
  /** What it returned, or the error that it threw. */
  readonly answer:
    | { readonly type: "returned"; readonly value?: unknown }
    | { readonly type: "error"; readonly name: string; readonly message: string; readonly traceback?: string | undefined };
  readonly printed: OutputWindows;
}

/**
 * Runs a script in a fresh sandbox of the principal's, without network and secrets, which ends with it. Its calls end with it too. Rejects if it
 * gives no answer, as `EXEC_TIMEOUT`, and as creating a sandbox does.
 */
export type RunScript = (principal: Principal, script: Script) => Promise<ScriptOutcome>;

/** Where none are run. */
export const noScripts: RunScript = () =>
  Promise.reject(new BelljarError("NOT_SUPPORTED", "No scripts are run here: call the tools one by one"));

/** Of one script. */
export const SCRIPT_CALLS = { most: 1_000, concurrent: 8 } as const;
