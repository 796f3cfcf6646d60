import { BelljarError } from "../../errors.ts";
import { type Counted, invalidLine, quoted } from "./dockerfile-error.ts";
import { expandText } from "./expand.ts";
import { type FromWish, type Instruction, parseInstruction, type Step } from "./instructions.ts";
import { readLines } from "./read-lines.ts";

const STAGES_MAX = 64;

export interface Stage extends FromWish {
  readonly steps: readonly Step[];
}

export interface Dockerfile {
  /** In the order of the file, up to the last one that is wanted. */
  readonly stages: readonly Stage[];
  /** The variables of ARG before the first FROM. A stage has them once it names them. */
  readonly args: ReadonlyMap<string, string>;
  readonly escape: string;
  /** What `line` of its instructions is the number of, for errors. */
  readonly counts: Counted;
}

export interface BuildWishes {
  readonly buildArgs: Readonly<Record<string, string>>;
  /** Default: the last stage. */
  readonly target?: string | undefined;
}

/** Reads a whole file: nothing of it runs before all of it was understood. Throws `DOCKERFILE_INVALID`. */
export function parseDockerfile(text: string, { buildArgs, target }: BuildWishes): Dockerfile {
  const { lines, escape } = readLines(text);
  const instructions = lines.map((line) => parseInstruction(line, escape));
  const first = instructions.findIndex(({ kind }) => kind === "from");
  if (first < 0) throw new BelljarError("DOCKERFILE_INVALID", "The Dockerfile has no FROM: begin it with one, such as `FROM base`");
  const args = readArgs(instructions.slice(0, first), { escape, buildArgs });
  const stages = splitStages(instructions.slice(first)).map((stage) => ({ ...stage, ...expandFrom(stage, args, escape) }));
  return { stages: stages.slice(0, findTarget(stages, target) + 1), args, escape, counts: "lines" };
}

interface Reading {
  readonly escape: string;
  readonly buildArgs: BuildWishes["buildArgs"];
}

function readArgs(instructions: readonly Instruction[], { escape, buildArgs }: Reading): ReadonlyMap<string, string> {
  const args = new Map<string, string>();
  for (const one of instructions) {
    if (one.kind !== "arg") throw invalidLine(one.line, "only ARG may stand before the first FROM");
    const standard = one.value && expandText(one.value, { line: one.line, escape, find: (name) => args.get(name) });
    const value = own(buildArgs, one.name) ?? standard;
    if (value !== undefined) args.set(one.name, value);
  }
  return args;
}

function splitStages(instructions: readonly Instruction[]): readonly Stage[] {
  const stages: (FromWish & { readonly steps: Step[] })[] = [];
  for (const one of instructions) {
    if (one.kind !== "from") stages.at(-1)?.steps.push(one);
    else if (stages.some(({ name }) => name !== undefined && name === one.name))
      throw invalidLine(one.line, `another stage is called ${quoted(one.name ?? "")}`);
    else stages.push({ ...one, steps: [] });
  }
  if (stages.length > STAGES_MAX) throw invalidLine(stages[STAGES_MAX]?.line ?? 1, `it is one of more than ${STAGES_MAX} stages`);
  return stages;
}

function expandFrom(
  { line, image, platform }: FromWish,
  args: ReadonlyMap<string, string>,
  escape: string,
): Pick<FromWish, "image" | "platform"> {
  const expand = (text: string): string => expandText(text, { line, escape, find: (name) => args.get(name) });
  const found = expand(image);
  if (found === "") throw invalidLine(line, `FROM ${quoted(image)} names nothing: set the variable by an ARG before it, or by --build-arg`);
  return { image: found, ...(platform !== undefined && { platform: expand(platform) }) };
}

function findTarget(stages: readonly Stage[], target: string | undefined): number {
  if (target === undefined) return stages.length - 1;
  const found = findStage(stages, target);
  if (found !== undefined) return found;
  throw new BelljarError("ARGUMENTS_INVALID", `The Dockerfile has no stage ${quoted(target)}: name one of its AS names or numbers`);
}

/** By its name or its number. */
export function findStage(stages: readonly Pick<Stage, "name">[], text: string): number | undefined {
  const named = stages.findIndex(({ name }) => name === text.toLowerCase());
  if (named >= 0) return named;
  return /^\d{1,3}$/.test(text) && Number(text) < stages.length ? Number(text) : undefined;
}

export function own(texts: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}
