import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type HarnessOptions, type HarnessRun, askHarness, callCode, readCode } from "./tool-harness.ts";

const VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];
const IDENTITY = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])";

export interface ReadTool {
  readonly function: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** One interpreter for each version of Python that this machine has; the usual one is always there. */
export async function findPythons(): Promise<readonly (readonly [version: string, path: string])[]> {
  const found = await Promise.all(["python3", ...VERSIONS.map((version) => `python${version}`)].map(identify));
  return [...new Map(found.flat())];
}

async function identify(command: string): Promise<(readonly [string, string])[]> {
  try {
    const [path = "", version = ""] = (await promisify(execFile)(command, ["-c", IDENTITY])).stdout.trim().split(" ");
    return [[version, path]];
  } catch {
    return [];
  }
}

/** The tools of a code that is read without a complaint. */
export async function readTools(code: string, options: HarnessOptions = {}): Promise<readonly ReadTool[]> {
  const { last, stderr } = await readCode("python", code, options);
  if (last?.type !== "tools") throw new Error(`The code was not read: ${JSON.stringify(last)}\n${stderr}`);
  return last["tools"] as readonly ReadTool[];
}

/** The properties of the only tool's input, the function having these parameters. */
export async function propertiesOf(parameters: string, before = "", options: HarnessOptions = {}): Promise<unknown> {
  const [tool] = await readTools(`${before}\n@mcp.tool\ndef f(${parameters}): pass\n`, options);
  return tool?.inputSchema["properties"];
}

/** Why a code is refused, and in which line. */
export async function refusalOf(code: string): Promise<readonly [line: unknown, message: unknown]> {
  const { last } = await readCode("python", code);
  if (last?.type !== "refused") throw new Error(`The code was not refused: ${JSON.stringify(last)}`);
  return [last["line"], last["message"]];
}

/** A call with options of the harness. */
export function callWith(options: HarnessOptions, code: string, fn: string, args: object = {}): Promise<HarnessRun> {
  return askHarness({ do: "call", language: "python", code, function: fn, arguments: args }, options);
}

/** The text of an answer's first block. */
export function textOf(answer: Readonly<Record<string, unknown>> | undefined): string {
  const [block] = (answer?.["content"] ?? []) as readonly { readonly text?: string }[];
  if (block?.text === undefined) throw new Error(`The answer has no text: ${JSON.stringify(answer)}`);
  return block.text;
}

/** What a function answers, the code being its body's lines. */
export async function callBody(body: string, args: object = {}, head = "f()"): Promise<Readonly<Record<string, unknown>> | undefined> {
  const code = `@mcp.tool\ndef ${head}:\n${body.replaceAll(/^/gm, "    ")}\n`;
  return (await callCode("python", code, "f", args)).last;
}
