import { printable, printableText } from "../../files/printable.ts";
import { invalidLine, toldIn } from "./dockerfile-error.ts";
import { openArchiveTree } from "./archive-tree.ts";
import { applySetting, type SettingParts, toFolder, expandIn } from "./apply-setting.ts";
import type { BuildParts } from "./build-parts.ts";
import { copyFiles, type CopyRequest, readyFromContext, readyFromStage, toRequest } from "./copy-step.ts";
import { findBase, type TakeImage } from "./find-base.ts";
import type { CopyStep, RunStep, Step, WorkdirStep } from "./instructions.ts";
import { MatchWork } from "./match-work.ts";
import { type Dockerfile, findStage, type Stage } from "./parse-dockerfile.ts";
import { runCommand } from "./run-command.ts";
import { openContext, openStageTree, type SourceTree } from "./source-tree.ts";
import { type StageState, withOrigin } from "./stage-state.ts";
import type { StepResult } from "./step-cache.ts";
import { freezeStep, inSandbox, makeFolder, withResult } from "./step-sandbox.ts";

export interface BuildRequest {
  readonly file: Dockerfile;
  readonly buildArgs: Readonly<Record<string, string>>;
  /** A folder of the host that the caller may read. */
  readonly context?: string | undefined;
  readonly takeImage: TakeImage;
  /** Archives by the names that a `--from` says. */
  readonly archives?: ReadonlyMap<string, string>;
  /** The first line whose step is done again, and all after it, whatever earlier builds did. Default: none. */
  readonly freshFrom?: number | undefined;
}

/**
 * Builds the stages that the last one needs, step by step. Each step that changes files is done in a sandbox of its own on what the stage has
 * come to, and is kept as a layer; one that an earlier build of the owner did on the same is taken over.
 */
export async function buildDockerfile(parts: BuildParts, request: BuildRequest): Promise<StageState> {
  try {
    return await new Build(parts, request).stage(request.file.stages.length - 1);
  } catch (cause) {
    throw toldIn(request.file, cause);
  }
}

class Build {
  readonly #parts: BuildParts;
  readonly #request: BuildRequest;
  readonly #stages = new Map<number, Promise<StageState>>();
  readonly #work: MatchWork;
  #context: Promise<SourceTree> | undefined;

  constructor(parts: BuildParts, request: BuildRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#work = new MatchWork(parts.signal);
  }

  /** Once, however many stages need it. */
  stage(index: number): Promise<StageState> {
    const begun = this.#stages.get(index) ?? this.#build(index);
    this.#stages.set(index, begun);
    return begun;
  }

  async #build(index: number): Promise<StageState> {
    const stage = this.#request.file.stages[index];
    if (!stage) throw new RangeError("a stage that the file has");
    let state = await this.#begin(stage, index);
    for (const step of stage.steps) {
      this.#parts.signal.throwIfAborted();
      state = await this.#apply(state, step, index);
    }
    return state;
  }

  async #begin(stage: Stage, index: number): Promise<StageState> {
    const from = await this.#find(stage, index);
    this.#parts.log(`FROM ${printable(stage.image)}${stage.name === undefined ? "" : ` AS ${stage.name}`}\n`, stage.line);
    return { ...from, args: new Map() };
  }

  /** A stage before this one, or what `FROM` may name. */
  async #find(from: Pick<Stage, "image" | "only" | "line" | "platform">, before: number): Promise<StageState> {
    const found = findStage(this.#request.file.stages.slice(0, before), from.image);
    return found === undefined ? findBase(this.#parts, from, this.#request.takeImage) : this.stage(found);
  }

  async #apply(state: StageState, step: Step, index: number): Promise<StageState> {
    const { log } = this.#parts;
    if (step.text !== "") log(`${printableText(step.text)}\n`, step.line);
    if (step.kind === "ignored") log(`  left out: ${step.why}\n`);
    switch (step.kind) {
      case "run":
        return this.#run(state, step);
      case "workdir":
        return this.#workdir(state, step);
      case "copy":
        return this.#copy(state, step, index);
      case "env":
      case "arg":
      case "user":
      case "shell":
      case "cmd":
      case "entrypoint":
      case "ignored":
        return applySetting(state, step, this.#settings());
    }
  }

  #settings(): SettingParts {
    const { file, buildArgs } = this.#request;
    return { escape: file.escape, args: file.args, buildArgs };
  }

  #run(state: StageState, step: RunStep): Promise<StageState> {
    const parts = this.#parts;
    const { line } = step;
    const { env, args, user, workdir = "/", shell } = state;
    const depends = ["run", step.command, sorted(Object.entries(env)), sorted(args), user, workdir, shell, parts.reach, ...step.mounts]; // no secret itself
    return this.#cached(state, { line, depends }, () =>
      inSandbox(parts, state, async (sandbox) => {
        await runCommand(parts, sandbox, { state, step });
        return freezeStep(parts, sandbox);
      }),
    );
  }

  async #workdir(state: StageState, step: WorkdirStep): Promise<StageState> {
    const { line, owner } = step;
    const path = toFolder(state, expandIn(state, step, this.#request.file.escape)(step.value), line).replace(/(?<=[^])\/$/, "");
    const depends = ["workdir", path, ...(owner === undefined ? [] : [owner])];
    const made = await this.#cached(state, { line, depends }, () => makeFolder(this.#parts, state, { path, line, owner }));
    return { ...made, workdir: path };
  }

  async #copy(state: StageState, step: CopyStep, index: number): Promise<StageState> {
    const request = toRequest(state, step, this.#request.file.escape);
    const archive = step.from === undefined ? undefined : this.#request.archives?.get(step.from);
    if (archive !== undefined) return this.#copyArchive(state, request, archive);
    if (step.from !== undefined) return this.#copyFrom(state, request, await this.#find({ image: step.from, line: step.line }, index));
    return this.#copyTree(state, request, await this.#openContext(step.line));
  }

  async #copyTree(state: StageState, request: CopyRequest, tree: SourceTree): Promise<StageState> {
    const ready = await readyFromContext(tree, request, this.#work);
    const depends = [...dependsOf(request), ready.digest];
    return this.#cached(state, { line: request.line, depends }, () => copyFiles(this.#parts, state, ready));
  }

  async #copyArchive(state: StageState, request: CopyRequest, path: string): Promise<StageState> {
    const { scratch, maxBytes } = this.#parts;
    await using tree = await openArchiveTree(path, { scratch, maxBytes, line: request.line, work: this.#work });
    return await this.#copyTree(state, request, tree);
  }

  #copyFrom(state: StageState, request: CopyRequest, from: StageState): Promise<StageState> {
    const parts = this.#parts;
    const depends = [...dependsOf(request), this.#below(from)];
    return this.#cached(withOrigin(state, from, request.line), { line: request.line, depends }, () =>
      inSandbox(parts, from, async (sandbox) =>
        copyFiles(
          parts,
          state,
          await readyFromStage(openStageTree(sandbox, { base: from.base, line: request.line, signal: parts.signal }), request, this.#work),
        ),
      ),
    );
  }

  #openContext(line: number): Promise<SourceTree> {
    const { context } = this.#request;
    if (context === undefined) throw invalidLine(line, "there is no folder to copy from: give the build a context");
    return (this.#context ??= openContext(context, this.#work));
  }

  /** The step's result: of an earlier build, if it depended on the same. */
  async #cached(state: StageState, { line, depends }: Depending, make: () => Promise<StepResult>): Promise<StageState> {
    const { cache, log } = this.#parts;
    const all = [...this.#below(state), ...depends];
    const isFresh = line >= (this.#request.freshFrom ?? Infinity);
    if (isFresh) await cache.forget(all);
    const found = isFresh ? undefined : await cache.find(all, (layers) => this.#hold(layers));
    if (found) log("  as built before\n");
    const result = found ?? (await make());
    const next = withResult(state, result, this.#parts);
    if (!found) await cache.keep(all, result).catch((cause: unknown) => log(`  not kept for later builds: ${printable(String(cause))}\n`));
    return next;
  }

  /** What is let go of at the end of the build, if that does not use it. */
  async #hold(layers: readonly string[]): Promise<void> {
    const { states, user, held } = this.#parts;
    held(layers);
    await states.hold(layers, user);
  }

  /** What the files of a stage depend on. */
  #below({ base, layers }: StageState): readonly unknown[] {
    return [base, this.#parts.states.markBase(base), layers];
  }
}

/** A step, and what its result depends on beside what it begins with. */
interface Depending {
  readonly line: number;
  readonly depends: readonly unknown[];
}

function dependsOf({ sources, destination, chown, mode }: CopyRequest): readonly unknown[] {
  return ["copy", sources, destination, chown, mode];
}

function sorted(pairs: Iterable<readonly [string, string]>): readonly (readonly [string, string])[] {
  return [...pairs].toSorted(([one], [other]) => (one < other ? -1 : 1));
}
