import { equal, ok } from "node:assert/strict";
import { posix } from "node:path";
import { BelljarError } from "../../../src/errors.ts";
import { fromKey, parentKey } from "../../../src/sandbox/workspace/entry.ts";
import { applySetting, expandIn, toFolder } from "../../../src/template/build/apply-setting.ts";
import { chooseSources } from "../../../src/template/build/choose-sources.ts";
import { type CopyRequest, toRequest } from "../../../src/template/build/copy-step.ts";
import { createIgnore } from "../../../src/template/build/ignore-file.ts";
import type { RunStep, Step } from "../../../src/template/build/instructions.ts";
import { MatchWork } from "../../../src/template/build/match-work.ts";
import { type Dockerfile, parseDockerfile } from "../../../src/template/build/parse-dockerfile.ts";
import { readLines } from "../../../src/template/build/read-lines.ts";
import { isAtOrBelow, type SourceEntry, type SourceTree, toSourceKey } from "../../../src/template/build/source-tree.ts";
import { SHELL, type StageState, toArgv } from "../../../src/template/build/stage-state.ts";
import { pureTarget } from "../fuzz-target.ts";

const FORESEEN: ReadonlySet<string> = new Set(["DOCKERFILE_INVALID", "FILE_TOO_LARGE", "PATH_INVALID"]);
const MESSAGE_MAX = 1_000;
const BUILD_ARGS = { GIVEN: "given value", EMPTY: "" };
const STEP_MAX = 65_536;
/** Each step doubles what the one before it has: a variable of 32 Ki characters, which the input may name. */
const BIG = `ARG BIG=0123456789abcdef\n${"ARG BIG=$BIG$BIG\n".repeat(11)}`;
const EMPTY: StageState = { base: "bare", layers: [], bytes: 0, env: {}, args: new Map(), shell: SHELL };

/** A file that a stranger wrote: refused as foreseen in a short message, or its steps are bounded, and stay in their folders. */
export const dockerfile = pureTarget({
  seeds: [
    "# escape=`\nARG V=1\nFROM a:${V:-2} AS one\nRUN a `\n  b\nFROM one\nCOPY --from=one --chmod=755 /a [b] /c/\n",
    'FROM base\nENV A=1 B="x $A" C=\'y\'\nENV D e f\nWORKDIR /a/$A/..\nUSER ann:1\nSHELL ["/bin/bash", "-c"]\nCMD ["a", "b"]\nENTRYPOINT a b\n',
    "FROM base\nARG GIVEN\nARG EMPTY=${GIVEN:+x${EMPTY:-y}}\nCOPY $BIG ${GIVEN} /x\nADD a.txt b /d/\n",
    "FROM base\nRUN --mount=type=secret,id=a,env=A,target=/b,required cat /b\nRUN <<EOF\nLABEL a=b\nEXPOSE 80\nONBUILD RUN a\n",
  ],
  words: [
    ..."FROM ;RUN ;COPY ;ADD ;ENV ;ARG ;WORKDIR ;USER ;CMD [;--from=;--mount=type=secret,id=;$BIG ;${BIG;:-;:+;:?;..;\\\n;`\n;<<E;__proto__=".split(
      ";",
    ),
    "\u2028",
    "\0",
  ],
  async run(input) {
    const text = input.toString();
    await foreseen(() => checkLines(text));
    await foreseen(() => {
      const file = parseDockerfile(text, { buildArgs: BUILD_ARGS });
      ok(file.stages.length > 0 && file.stages.length <= 64);
      for (const { steps, image } of file.stages) {
        ok(image.length <= STEP_MAX);
        followSteps(file, steps);
      }
    });
    await foreseen(() => {
      const [first = "", ...rest] = text.split("\n");
      const file = parseDockerfile(`FROM base\n${BIG}${rest.join("\n")}\n${first}`, { buildArgs: BUILD_ARGS });
      for (const { steps } of file.stages) followSteps(file, steps);
    });
  },
});

function checkLines(text: string): void {
  const { lines, escape } = readLines(text);
  const last = text.split("\n").length;
  ok(lines.length <= 1_000 && (escape === "\\" || escape === "`"));
  for (const [index, { line, text: one }] of lines.entries()) {
    ok(line > (lines[index - 1]?.line ?? 0) && line <= last);
    ok(one !== "" && one === one.trim() && one.length <= text.length);
  }
}

function followSteps(file: Dockerfile, steps: readonly Step[]): void {
  let state = EMPTY;
  for (const step of steps) state = follow(file, state, step);
}

function follow({ escape, args }: Dockerfile, state: StageState, step: Step): StageState {
  if (step.kind === "run") checkRun(step, state);
  if (step.kind === "copy") checkCopy(toRequest(state, step, escape));
  if (step.kind === "run" || step.kind === "copy") return state;
  if (step.kind === "workdir") {
    const workdir = toFolder(state, expandIn(state, step, escape)(step.value), step.line).replace(/(?<=[^])\/$/, "");
    checkPlace(workdir);
    return { ...state, workdir };
  }
  const next = applySetting(state, step, { escape, args, buildArgs: BUILD_ARGS });
  for (const values of [Object.values(next.env), [...next.args.values()]]) ok(sizeOf(values) <= STEP_MAX);
  return next;
}

function checkRun({ command, mounts }: RunStep, state: StageState): void {
  ok(toArgv(command, state).every((word) => typeof word === "string"));
  ok(mounts.every(({ target }) => target === undefined || target.startsWith("/")));
}

function checkCopy({ sources, destination }: CopyRequest): void {
  ok(sources.length > 0 && sources.length < 1_000 && sizeOf(sources) <= STEP_MAX);
  checkPlace(destination);
  for (const key of sources.map(toSourceKey)) ok(key === undefined || !`/${key}/`.includes("/../"));
}

function sizeOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function checkPlace(path: string): void {
  ok(path.startsWith("/") && !path.includes("\0"));
  equal(posix.resolve(path), path.replace(/(?<=[^])\/$/, ""));
}

/** The first line is a source of COPY, up to an empty line follow the patterns of a `.dockerignore`, and then names of files. */
export const dockerignore = pureTarget({
  seeds: [
    "*.txt\nnode_modules\n!node_modules/a\n# c\n**/*.md\n/a/[b-d]?\n\na.txt\nnode_modules/a/b\nx/y/z.md\na/c1\n",
    "a/**/b*\n**/**/a\n[!a]*\n[^b-z]/x\n!**\n\na/b\nb/x/c\n\u00e4/\u{1f600}\n",
    "./../[a\n****\n*?*?*?a\n../x\n!\n\naaaaaaaaaaaaaaaaaaaa/aaaaaaaaaaaaaaaaaaa\n",
  ],
  words: ["**/", "**", "*?", "[a-", "[!", "]", "!", "\n\n", "../", "//", "\\", Buffer.from([0xff, 0xfe])],
  async run(input) {
    const text = input.toString("latin1");
    const end = text.indexOf("\n\n");
    const [source = "", ...lines] = Buffer.from(end < 0 ? text : text.slice(0, end), "latin1")
      .toString()
      .split("\n");
    const keys =
      end < 0
        ? []
        : text
            .slice(end + 2)
            .split("\n")
            .flatMap(toKeys);
    await foreseen(() => checkIgnore(lines.join("\n"), keys));
    await foreseen(() => checkSource(source, keys));
  },
});

function toKeys(line: string): readonly string[] {
  const key = line
    .split("/")
    .filter((name) => !["", ".", ".."].includes(name) && !name.includes("\0"))
    .join("/");
  return key === "" ? [] : [key];
}

function checkIgnore(text: string, keys: readonly string[]): void {
  let steps = 0;
  const isKept = createIgnore(text, { spend: (some) => void (steps += some) });
  for (const key of keys) {
    steps = 0;
    const kept = isKept(key);
    ok(steps <= stepsMax(text, key), `${steps} steps`);
    equal(isKept(key), kept);
    if (!isKept.hasExceptions && !kept) ok(!isKept(`${key}/below`), "a folder that is left out is left out as a whole");
  }
  const onlyFirst = createIgnore(`**\n!/${keys.length}`, { spend: () => undefined });
  ok(keys.every((key) => onlyFirst(key) === isAtOrBelow(key, String(keys.length))));
}

/** Each character of a name meets each state of a pattern: it reaches three others at most, and is counted for each. */
function stepsMax(patterns: string, key: string): number {
  return 4 * (patterns.length + 8 * patterns.split("\n").length) * (key.length + 2);
}

async function checkSource(source: string, keys: readonly string[]): Promise<void> {
  let steps = 0;
  const tree = treeOf(keys);
  const work = new MatchWork(AbortSignal.timeout(20_000));
  const counted = Object.assign(Object.create(work) as MatchWork, {
    next: () => work.next(),
    spend: (some: number) => void (steps += some),
  });
  const all = await tree.list("");
  const chosen = await chooseSources(tree, [source], { line: 1, work: counted }).finally(() => {
    ok(steps <= [...all.keys()].reduce((sum, key) => sum + stepsMax(source, key), 0), `${steps} steps`);
  });
  for (const { root, entries } of chosen) {
    ok(entries.has(root));
    for (const key of entries.keys()) ok(isAtOrBelow(key, root) && all.has(key));
  }
}

function treeOf(keys: readonly string[]): SourceTree {
  const all = new Map<string, SourceEntry>([["", entryOf("directory")]]);
  for (const key of keys.toSorted((one, other) => one.length - other.length)) {
    for (let above = parentKey(key); above !== ""; above = parentKey(above)) all.set(above, entryOf("directory"));
    if (!all.has(key)) all.set(key, entryOf(fromKey(key).length % 7 === 0 ? "link" : "file"));
  }
  const ordered = [...all].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    list: async (path) => new Map(ordered.filter(([key]) => isAtOrBelow(key, path))),
    read: () => {
      throw new Error("nothing is read to choose");
    },
  };
}

function entryOf(type: SourceEntry["type"]): SourceEntry {
  return { type, size: 0, mode: 0o644, mtimeNs: 0n, uid: 0, gid: 0 };
}

async function foreseen(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof BelljarError) || !FORESEEN.has(error.code)) throw error;
    ok(error.message.length <= MESSAGE_MAX, `a message of ${error.message.length} characters`);
  }
}
