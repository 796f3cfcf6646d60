import { BelljarError } from "../../errors.ts";
import { INSIDE } from "../../sandbox/sandbox.ts";
import { findLanguage } from "../language.ts";
import { BASH_KERNEL } from "./bash-kernel.ts";
import type { Kernel, Preparation } from "./kernel.ts";
import { READ_BY_NODE, READ_BY_PYTHON } from "./read-at-start.ts";

// Of two threads one hears an interrupt. One that comes while they change over may be lost, which is seldom.
const NODE_INTERRUPTS = 4;
// Without the flag Node ends itself when an interrupt breaks a callback off.
const NODE = ["node", "--no-force-async-hooks-checks", `${INSIDE.kernels}/javascript-kernel.mjs`];

export const KERNELS: readonly Kernel[] = [
  {
    language: "python",
    argv: ["python3", `${INSIDE.kernels}/python-kernel.py`],
    env: { PYTHONUNBUFFERED: "1" },
    ask: askInJson("python"),
    prepare: prepareInJson,
    readAtStart: READ_BY_PYTHON,
  },
  {
    language: "javascript",
    argv: NODE,
    interrupts: NODE_INTERRUPTS,
    ask: askInJson("javascript"),
    prepare: prepareInJson,
    readAtStart: READ_BY_NODE,
  },
  { language: "typescript", argv: NODE, interrupts: NODE_INTERRUPTS, ask: askInJson("typescript") },
  BASH_KERNEL,
];

/** Throws `LANGUAGE_UNAVAILABLE` for a language that has no contexts. */
export function findKernel(name: string): Kernel {
  const language = findLanguage(name);
  const kernel = KERNELS.find((one) => one.language === language.name);
  if (kernel) return kernel;
  const known = KERNELS.map((one) => one.language).join(", ");
  throw new BelljarError("LANGUAGE_UNAVAILABLE", `${language.title} keeps no variables between runs; ${known} do. Use execute_code for it`);
}

function askInJson(language: string): Kernel["ask"] {
  // The first line feed ends what an earlier stream had half-written.
  return ({ token, ...request }) => `\n${JSON.stringify({ run: token, language, ...request })}\n`;
}

function prepareInJson({ token, ...wishes }: Preparation): string {
  return `\n${JSON.stringify({ prepare: token, ...wishes })}\n`;
}
