import { expect, it } from "vitest";
import { applySetting, expandIn } from "./apply-setting.ts";
import { toRequest } from "./copy-step.ts";
import type { Step } from "./instructions.ts";
import { parseDockerfile } from "./parse-dockerfile.ts";
import { SHELL, type StageState } from "./stage-state.ts";

const EMPTY: StageState = { base: "bare", layers: [], bytes: 0, env: {}, args: new Map(), shell: SHELL };
/** 40,960 characters, in lines of a few. */
const BIG = ["ARG BIG=0123456789", ...Array.from({ length: 12 }, () => "ARG BIG=$BIG$BIG")];

/** The stage after all lines. */
function follow(...lines: readonly string[]): StageState {
  const { stages, args, escape } = parseDockerfile(["FROM base", ...lines].join("\n"), { buildArgs: {} });
  return (stages[0]?.steps ?? []).reduce((state, step) => apply(state, step, { args, escape, buildArgs: {} }), EMPTY);
}

function apply(state: StageState, step: Step, parts: Parameters<typeof applySetting>[2]): StageState {
  if (step.kind === "run" || step.kind === "workdir") return state;
  if (step.kind !== "copy") return applySetting(state, step, parts);
  toRequest(state, step, parts.escape);
  return state;
}

it.each([
  ["ENV of one line", `ENV A=$BIG B=$BIG`, /65536 characters/],
  ["COPY", "COPY $BIG $BIG /x/", /65536 characters/],
  ["arguments of a stage", "ARG MORE=$BIG", /65536 bytes/],
  ["sources", `COPY ${"a ".repeat(1_000)} /x/`, /1000 words/],
  ["a path", `COPY a /${"b/".repeat(2_048)}`, /4095 bytes/],
])("refuses more than is bounded of %s", (_what, line, message) => {
  expect(follow(...BIG).args.get("BIG")).toHaveLength(40_960);
  expect(() => follow(...BIG, line)).toThrow(
    expect.objectContaining({ code: "DOCKERFILE_INVALID", message: expect.stringMatching(message) as string }),
  );
});

it.each([
  [`\${${"A".repeat(10_000)}#}`, /A\.\.\./],
  [`\${${"A".repeat(10_000)}:?x}`, /A\.\.\. is not set: x/],
  [`\${A:?${"b".repeat(10_000)}}`, /A is not set: b+\.\.\.$/],
  ["${A:?\u001b[2J}", /A is not set: \\u\{1b\}\[2J$/],
])("shows the start of a long text, and controls no terminal: %#", (text, message) => {
  const expand = expandIn(EMPTY, { kind: "workdir", value: "", line: 1, text: "" }, "\\");
  expect(() => expand(text)).toThrow(expect.objectContaining({ message: expect.stringMatching(message) as string }));
  expect(() => expand(text)).toThrow(/^.{1,300}$/);
});
