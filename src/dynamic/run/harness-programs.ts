import { INSIDE } from "../../sandbox/sandbox.ts";
import type { HarnessProgram } from "../harness/ask-harness.ts";
import type { ToolLanguage } from "../unit.ts";

type Starts = Pick<HarnessProgram, "argv" | "env">;

const node: Starts = { argv: ["node", `${INSIDE.kernels}/javascript-tools.mjs`] };

/** A shell script is read by the host, and runs as it is. */
export type HarnessLanguage = Exclude<ToolLanguage, "shell">;

const HARNESSES: Readonly<Record<HarnessLanguage, Starts>> = {
  python: { argv: ["python3", `${INSIDE.kernels}/python-tools.py`], env: { PYTHONDONTWRITEBYTECODE: "1" } },
  javascript: node,
  typescript: node,
};

/** `packages`: the folder of its packages, which Node finds by itself. `name`: of the unit, for the file's name in tracebacks. */
export function harnessOf(
  { language, code }: { readonly language: HarnessLanguage; readonly code: string },
  name: string,
  packages?: string,
): HarnessProgram {
  const { argv, env } = HARNESSES[language];
  return {
    argv,
    env: { ...env, ...(packages !== undefined && language === "python" && { PYTHONPATH: packages }) },
    code: { language, code, name },
  };
}
