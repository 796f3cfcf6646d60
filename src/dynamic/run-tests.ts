import { isDeepStrictEqual } from "node:util";
import { limitTime } from "../async/limit-time.ts";
import type { JsonSchemas } from "../catalog/json-schemas.ts";
import type { ToolResult } from "../catalog/tool.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitRunner } from "./run/unit-runner.ts";
import { toResult } from "./unit-tool.ts";
import type { PackageLock } from "../packages/package-lock.ts";
import type { ReadTool, ToolExpectation, ToolTest, UnitSpec } from "./unit.ts";

/** Of all tests of a unit. */
const TESTS_MS = 600_000;
const SHOWN_CHARACTERS = 500;

export interface TestReport {
  readonly tool: string;
  /** Absent: it has passed. */
  readonly problem?: string;
}

export interface TestedUnit {
  readonly owner: string;
  readonly name: string;
  readonly spec: UnitSpec;
  readonly tools: readonly ReadTool[];
  readonly lock?: PackageLock;
}

export interface TestingParts {
  readonly runner: UnitRunner;
  readonly schemas: JsonSchemas;
}

/** Runs the unit's tests one after the other, each as a call of its own. Rejects only if the signal aborts or no sandbox can be made. */
export async function runTests(
  parts: TestingParts,
  principal: Principal,
  unit: TestedUnit,
  signal: AbortSignal,
): Promise<readonly TestReport[]> {
  const reports: TestReport[] = [];
  using limit = limitTime(signal, TESTS_MS);
  for (const test of unit.spec.tests ?? []) {
    const read = findTool(unit, test);
    const tool = read?.name ?? test.tool ?? "";
    const problem = read ? await runTest(parts, principal, { unit, read, test }, limit.signal) : tellMissing(unit, test);
    reports.push({ tool, ...(problem !== undefined && { problem }) });
  }
  return reports;
}

interface Testing {
  readonly unit: TestedUnit;
  readonly read: ReadTool;
  readonly test: ToolTest;
}

// eslint-disable-next-line max-params -- as `runTests`
async function runTest(
  { runner, schemas }: TestingParts,
  principal: Principal,
  { unit, read, test }: Testing,
  signal: AbortSignal,
): Promise<string | undefined> {
  const parsed = await schemas.read(read.inputSchema, principal.id).parse(test.arguments);
  if (!("value" in parsed)) return `its arguments are not valid: ${parsed.problems.slice(0, 5).join("; ")}`;
  try {
    const outcome = await runner.call(principal, unit, { tool: read, arguments: test.arguments, signal });
    return compare(test.expect, toResult(read, outcome));
  } catch (cause) {
    // Its own end and its own time limit are the code's.
    if (!(cause instanceof BelljarError) || !["TOOL_FAILED", "EXEC_TIMEOUT", "RESULT_TOO_LARGE"].includes(cause.code)) throw cause;
    return compare(test.expect, { value: null, content: [{ type: "text", text: cause.message }], isError: true });
  }
}

function compare({ text, structured, error }: ToolExpectation, result: ToolResult): string | undefined {
  const answered = result.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  if (error === undefined && result.isError) return `it failed: ${shown(answered)}`;
  if (error !== undefined && !result.isError) return `it should have failed, and answered ${shown(answered)}`;
  if (error !== undefined && !answered.includes(error)) return `its error is ${shown(answered)}, without ${shown(error)}`;
  if (text !== undefined && answered !== text) return `it answered ${shown(answered)}, not ${shown(text)}`;
  if (structured !== undefined && !isDeepStrictEqual(result.structured, structured))
    return `its structure is ${shown(JSON.stringify(result.structured) ?? "absent")}, not ${shown(JSON.stringify(structured))}`;
  return undefined;
}

function findTool({ tools }: TestedUnit, { tool }: ToolTest): ReadTool | undefined {
  if (tool !== undefined) return tools.find(({ name, function: called }) => name === tool || called === tool);
  return tools.length === 1 ? tools[0] : undefined;
}

function tellMissing({ tools }: TestedUnit, { tool }: ToolTest): string {
  const names = tools.map(({ name }) => name).join(", ");
  return tool === undefined ? `it does not say which tool it calls of ${names}` : `there is no such tool; there are ${names}`;
}

function shown(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, SHOWN_CHARACTERS))} …`;
}
