import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { BelljarError } from "../../errors.ts";
import { BARE_BASE } from "../../runtime/contract/sandbox-spec.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { expandIn, toFolder } from "./apply-setting.ts";
import type { BuildParts } from "./build-parts.ts";
import { type ChosenSource, chooseSources } from "./choose-sources.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { findOwner } from "./find-owner.ts";
import type { CopyStep } from "./instructions.ts";
import type { MatchWork } from "./match-work.ts";
import { type PlacedEntry, placeCopies } from "./place-copies.ts";
import { ROOT } from "./root-user.ts";
import { digestAll, digestEntries, type SourceTree } from "./source-tree.ts";
import type { StageState } from "./stage-state.ts";
import type { StepResult } from "./step-cache.ts";
import { freezeStep, inSandbox } from "./step-sandbox.ts";
import { changes, writeTar } from "./write-tar.ts";

const ENTRIES_MAX = 1_000_000;
const TAR = ["tar", "-xpf", "-", "--numeric-owner", "-C", "/"] as const;
const ARCHIVE = /\.(?:tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz|zst))$/i;
const TOLD_MAX = 500;

/** A COPY with its variables put in. */
export interface CopyRequest extends Pick<CopyStep, "sources" | "chown"> {
  readonly line: number;
  readonly destination: string;
  readonly mode?: number | undefined;
}

/** What is copied, with what the result depends on. */
export interface ReadyCopy {
  readonly request: CopyRequest;
  readonly tree: SourceTree;
  readonly chosen: readonly ChosenSource[];
  /** By keys of the tree. Absent: what the tree holds cannot change. */
  readonly digests?: ReadonlyMap<string, string> | undefined;
  /** Of all of them. */
  readonly digest?: string | undefined;
}

export function toRequest(state: StageState, step: CopyStep, escape: string): CopyRequest {
  const expand = expandIn(state, step, escape);
  const { line, word, chown, chmod } = step;
  const sources = step.sources.map(expand);
  const archive = word === "ADD" ? sources.find((source) => ARCHIVE.test(source)) : undefined;
  if (archive !== undefined) throw invalidLine(line, `ADD unpacks no archive such as ${quoted(archive)}: COPY it, and unpack it by a RUN`);
  const destination = toFolder(state, expand(step.destination), line);
  const mode = chmod === undefined ? undefined : toMode(expand(chmod), line);
  return { line, sources, destination, ...(chown !== undefined && { chown: expand(chown) }), ...(mode !== undefined && { mode }) };
}

function toMode(text: string, line: number): number {
  if (/^[0-7]{3,4}$/.test(text)) return Number.parseInt(text, 8);
  throw invalidLine(line, `--chmod=${quoted(text)} is no mode: write it in octal, such as 755`);
}

/** Of a folder of the host: what lies in it is read here, and again as it is copied. */
export async function readyFromContext(tree: SourceTree, request: CopyRequest, work: MatchWork): Promise<ReadyCopy> {
  const chosen = await chooseSources(tree, request.sources, { line: request.line, work });
  const digests = new Map<string, string>();
  for (const { entries } of chosen) await digestEntries(tree, entries, digests);
  return { request, tree, chosen, digests, digest: await digestAll(digests, work.signal) };
}

/** Of another stage or a template. */
export async function readyFromStage(tree: SourceTree, request: CopyRequest, work: MatchWork): Promise<ReadyCopy> {
  return { request, tree, chosen: await chooseSources(tree, request.sources, { line: request.line, work }) };
}

/** Copies into what the stage has come to. */
export async function copyFiles(parts: BuildParts, state: StageState, ready: ReadyCopy): Promise<StepResult> {
  const { request, chosen } = ready;
  return inSandbox(parts, state, async (sandbox) => {
    const { files } = sandbox.guest;
    const { line, destination, mode, chown } = request;
    const looking = { files, line, signal: parts.signal };
    const owner = chown === undefined ? undefined : await findOwner(chown, looking);
    const isBare = state.base === BARE_BASE.template;
    const isFirst = isBare && state.layers.length === 0;
    const placed = await placeCopies(chosen, { ...looking, destination, mode, owner, isFirst });
    const tar = writeTar(placed, (entry) => readChecked(ready, entry));
    if (isBare) return unpackLayer(parts, state, tar);
    await unpackInside(sandbox, tar, parts.signal);
    return freezeStep(parts, sandbox);
  });
}

/** A file that changes between its two readings would make the cache lie. */
async function* readChecked({ tree, digests }: ReadyCopy, { key, source = "" }: PlacedEntry): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const chunk of tree.read(source)) {
    if (digests) hash.update(chunk);
    yield chunk;
  }
  if (digests && !digests.get(source)?.includes(hash.digest("hex"))) throw changes(key);
}

async function unpackLayer(
  { states, user, maxBytes, held, signal }: BuildParts,
  state: StageState,
  tar: AsyncIterable<Uint8Array>,
): Promise<StepResult> {
  const { layer, bytes } = await states.unpack(
    { tar, user, maxBytes, maxEntries: ENTRIES_MAX, below: state.layers, durable: true },
    signal,
  );
  held([layer]);
  return { layers: [layer, ...state.layers], bytes };
}

/** On the host's own programs a layer has several parts, which only the sandbox keeps apart. */
async function unpackInside({ guest }: Sandbox, tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  await using process = await guest.exec({ argv: TAR, cwd: "/", user: ROOT, signal });
  process.stdout.resume();
  const complaint = readStart(process.stderr as AsyncIterable<Buffer>);
  const carried = await pipeline(tar, process.stdin, { signal }).then(
    () => undefined,
    (cause: unknown) => ({ cause }),
  );
  const { exitCode } = await process.exited;
  if (carried?.cause instanceof BelljarError) throw carried.cause;
  if (exitCode !== 0)
    throw new BelljarError("COMMAND_FAILED", `The files could not be copied: ${(await complaint).trim() || "tar failed"}`);
  if (carried) throw carried.cause;
}

async function readStart(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of stream) if (text.length < TOLD_MAX) text += chunk.toString();
  return text.slice(0, TOLD_MAX);
}
