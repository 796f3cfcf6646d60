import type { ToolContext } from "../catalog/tool.ts";
import type { OutputWindow, OutputWindows, Room } from "../interpreter/output-window.ts";
import { countLines, excerpt } from "../interpreter/output-window.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { keepOutput } from "./kept-output.ts";
import { SHOWN_BYTES, SHOWN_LINES } from "./max-bytes.ts";
import { closeLine } from "./output-text.ts";
import { plainText, tellLeftOut } from "./plain-text.ts";

export interface ShowOptions {
  /** Where all of a long output is kept as a file; absent: it ends with the call. */
  readonly sandbox?: Sandbox | undefined;
  /** Its id as the call named it, for the call that reads on; absent: the default sandbox. */
  readonly sandboxId?: string | undefined;
  /** Absent: what all hosts show, in lines too. */
  readonly maxBytes?: number | undefined;
  /** As it was printed, with the controls of a terminal. Absent: the tool has no such argument. */
  readonly raw?: boolean | undefined;
}

export interface ShownOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** For the last line: what is left out, and of a cut output where it lies, whether all of it is there, and the call that reads on. */
  readonly rest: readonly string[];
}

type Shower = Pick<ToolContext, "results" | "signal">;

/** As a model is given them: of a long one both ends, and how to read on. */
export async function showOutput(context: Shower, windows: OutputWindows, options: ShowOptions = {}): Promise<ShownOutput> {
  const { maxBytes = SHOWN_BYTES, raw } = options;
  const read = (window: OutputWindow) => (raw ? { text: window.text() } : plainText(window.text(), window.total));
  const streams = [read(windows.stdout), read(windows.stderr)] as const;
  const [{ text: stdout }, { text: stderr }] = streams;
  const notes = tellLeftOut(streams, raw !== undefined);
  const sizes = [Buffer.byteLength(stdout), Buffer.byteLength(stderr)] as const;
  const wasCut = windows.stdout.truncated || windows.stderr.truncated;
  const lines = [countLines(stdout), countLines(stderr)] as const;
  const maxLines = options.maxBytes === undefined ? SHOWN_LINES : Number.POSITIVE_INFINITY;
  if (sizes[0] + sizes[1] <= maxBytes && lines[0] + lines[1] <= maxLines) return { stdout, stderr, truncated: wasCut, rest: notes };
  const [bytes, rows] = [shareRoom(sizes, maxBytes), shareRoom(lines, maxLines)];
  const out = excerpt(stdout, { bytes: bytes[0], lines: rows[0] });
  const err = excerpt(stderr, { bytes: bytes[1], lines: rows[1] });
  const isErrors = out.text === stdout;
  const above = isErrors ? `${closeLine(stdout)}--- stderr ---\n` : "";
  const all = isErrors ? above + stderr : `${closeLine(stdout)}${stderr === "" ? "" : `--- stderr ---\n${stderr}`}`;
  const shown = above + (isErrors ? err : out).head;
  const total = wasCut ? windows.stdout.total + windows.stderr.total : undefined;
  const rest = await describeRest(context, options, { kept: all, shown, total });
  return { stdout: out.text, stderr: err.text, truncated: true, rest: [...notes, ...rest] };
}

/** A short stream is shown whole; two long ones get a half each. */
function shareRoom([first, second]: readonly [number, number], most: number): readonly [number, number] {
  const half = Math.floor(most / 2);
  if (second <= half) return [most - second, second];
  return first <= half ? [first, most - first] : [half, half];
}

interface Cut {
  readonly kept: string;
  /** Its beginning, up to the first cut. */
  readonly shown: string;
  /** Bytes that were printed; absent: nothing is missing in `kept`. */
  readonly total: number | undefined;
}

async function describeRest({ results, signal }: Shower, { sandbox, sandboxId }: ShowOptions, cut: Cut): Promise<readonly string[]> {
  const { kept, shown, total } = cut;
  const path = sandbox && (await keepOutput(sandbox, kept, signal));
  const bytes = Buffer.byteLength(kept);
  const parts = total === undefined ? undefined : `the first and last parts (${bytes} bytes) of ${total} bytes are`;
  if (path === undefined) {
    const uri = `${results.keep(kept)}?offset=${Buffer.byteLength(shown)}`;
    return [parts ? `${parts} kept` : `${bytes} bytes in all`, `read on with read_result ${JSON.stringify({ uri })}`];
  }
  const call = JSON.stringify({ path, start_line: shown.split("\n").length, sandbox: sandboxId });
  return [`${parts ?? `all ${bytes} bytes are`} in ${path}`, `read on with read_file ${call}`];
}

/** What of the result's size is left below the output. */
export function roomBelow({ stdout, stderr }: ShownOutput, maxBytes: number | undefined): Room {
  return {
    bytes: Math.max(0, (maxBytes ?? SHOWN_BYTES) - Buffer.byteLength(stdout) - Buffer.byteLength(stderr)),
    lines: (maxBytes === undefined ? SHOWN_LINES : Number.POSITIVE_INFINITY) - countLines(stdout) - countLines(stderr),
  };
}
