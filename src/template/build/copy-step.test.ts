import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { BuildParts } from "./build-parts.ts";
import { copyFiles, type CopyRequest, readyFromContext } from "./copy-step.ts";
import { MatchWork } from "./match-work.ts";
import type { SourceEntry, SourceTree } from "./source-tree.ts";
import { SHELL, type StageState } from "./stage-state.ts";

const STATE: StageState = { base: "bare", layers: [], bytes: 0, env: {}, args: new Map(), workdir: "/", shell: SHELL };
const REQUEST: CopyRequest = { line: 2, sources: ["file"], destination: "/file" };
const ENTRY: SourceEntry = { type: "file", size: 3, mode: 0o644, mtimeNs: 0n, uid: 0, gid: 0 };

/** A file that has the next of these contents whenever it is read. */
function changingTree(contents: readonly string[]): SourceTree {
  const left = contents.values();
  return {
    list: async (path) => new Map([[path, ENTRY]]),
    read: async function* () {
      yield Buffer.from(left.next().value ?? "");
    },
  };
}

/** An empty sandbox, and a store that takes any archive. */
function emptyParts(): BuildParts {
  const stat = () => Promise.reject(new BelljarError("FILE_NOT_FOUND", "nothing is there"));
  const sandbox = { guest: { files: { stat } }, kill: async () => undefined };
  const unpack = async ({ tar }: { tar: AsyncIterable<Uint8Array> }) => {
    let bytes = 0;
    for await (const chunk of tar) bytes += chunk.length;
    return { layer: "made", bytes };
  };
  const parts = {
    principal: LOCAL,
    stored: { whileTried: async <T>(_principal: unknown, _source: unknown, work: () => Promise<T>) => work() },
    sandboxes: { create: async () => sandbox },
    states: { unpack },
    held: () => undefined,
    signal: new AbortController().signal,
  };
  return parts as unknown as BuildParts;
}

it.each([
  ["stays the same", ["one", "one"], true],
  ["changes", ["one", "two"], false],
  ["grows", ["one", "longer"], false],
  ["shrinks", ["one", "o"], false],
])("a file of the context that %s between its two readings", async (_how, contents, isCopied) => {
  const ready = await readyFromContext(changingTree(contents), REQUEST, new MatchWork(new AbortController().signal));
  const copied = copyFiles(emptyParts(), STATE, ready).then(
    ({ layers }) => layers,
    (cause: unknown) => (cause instanceof BelljarError ? cause.code : cause),
  );
  expect(await copied).toEqual(isCopied ? ["made"] : "PATH_INVALID");
});
