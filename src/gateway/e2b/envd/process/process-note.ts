import * as z from "zod";
import { parseJson } from "../../../../files/parse-json.ts";
import type { StartRequest } from "./messages.ts";

/** What a process was started as. It is noted in the sandbox, with the process, so that another server finds it there. */
export interface ProcessNote {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly tag?: string | undefined;
  readonly isTerminal: boolean;
}

/** A guest keeps no longer note. */
const NOTE_MAX_BYTES = 8_192;
const CUT_MARK = "...";

const schema = z.object({
  cmd: z.string(),
  args: z.array(z.string()).readonly(),
  envs: z.record(z.string(), z.string()),
  cwd: z.string().optional(),
  tag: z.string().optional(),
  isTerminal: z.boolean(),
});

/** Of what is too long for a note the variables are left out, and if that is not enough, the arguments are cut. */
export function toNote({ process: { cmd, args, envs, cwd }, pty, tag }: StartRequest): ProcessNote {
  const note = { cmd, args, envs, cwd, tag, isTerminal: pty !== undefined };
  return [note, { ...note, envs: {} }, cut(note)].find(fits) ?? { ...cut({ ...note, cwd: undefined }), cmd: cutText(cmd), args: [] };
}

export function writeNote(note: ProcessNote): string {
  return JSON.stringify(note);
}

/** Whoever is in the sandbox may have changed it. */
export function readNote(text: string): ProcessNote {
  const read = schema.safeParse(parseJson(text));
  return read.success ? read.data : { cmd: "", args: [], envs: {}, isTerminal: false };
}

function fits(note: ProcessNote): boolean {
  return Buffer.byteLength(writeNote(note)) <= NOTE_MAX_BYTES;
}

function cut(note: ProcessNote): ProcessNote {
  return { ...note, envs: {}, args: note.args.slice(0, 4).map(cutText) };
}

function cutText(text: string): string {
  const most = 200;
  return text.length <= most ? text : text.slice(0, most) + CUT_MARK;
}
