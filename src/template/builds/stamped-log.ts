import { readLog } from "./log-file.ts";

/** Of a line. A longer one goes on in the next entry. */
const LINE_MAX = 8_192;

/** A line of a build's log. */
export interface LogEntry {
  readonly at: Date;
  /** The step that it belongs to. */
  readonly step: number;
  readonly text: string;
}

interface Log {
  write(text: string): void;
  end(): Promise<void>;
}

/** Writes each whole line with its time and its step before it. */
export function stampLines(log: Log): { write(text: string, step: number): void; end(): Promise<void> } {
  let [pending, of] = ["", 0];
  const put = (line: string): void => log.write(`${new Date().toISOString()} ${of} ${line}\n`);
  const flush = (): void => {
    if (pending !== "") put(pending);
    pending = "";
  };
  return {
    write(text, step) {
      if (step !== of) flush();
      of = step;
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) for (const part of cut(line)) put(part);
      if (pending.length > LINE_MAX) flush();
    },
    async end() {
      flush();
      await log.end();
    },
  };
}

function cut(line: string): readonly string[] {
  const parts = [line.slice(0, LINE_MAX)];
  for (let at = LINE_MAX; at < line.length; at += LINE_MAX) parts.push(line.slice(at, at + LINE_MAX));
  return parts;
}

/** Where an entry begins. */
export interface LogPlace {
  readonly entry: number;
  /** Of the file. */
  readonly byte: number;
}

export interface EntriesWish {
  /** At or before the first one that is wanted. */
  readonly from: LogPlace;
  /** How many entries there are before the first one. */
  readonly offset: number;
  readonly limit: number;
}

/** At most so many entries from there on, and where the next one begins. */
export async function readEntries(
  path: string,
  wish: EntriesWish,
): Promise<{ readonly entries: readonly LogEntry[]; readonly next: LogPlace }> {
  const entries: LogEntry[] = [];
  let { entry, byte } = wish.from;
  for (let [read, rest] = [byte, ""]; ;) {
    const { text, nextOffset } = await readLog(path, read);
    read = nextOffset;
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (entries.length === wish.limit) return { entries, next: { entry, byte } };
      if (entry >= wish.offset) entries.push(parseEntry(line, entries.at(-1)));
      entry += 1;
      byte += Buffer.byteLength(line) + 1;
    }
    if (text === "") return { entries, next: { entry, byte } };
  }
}

/** Where the log's bound has cut it, a line has no time of its own. */
function parseEntry(line: string, before: LogEntry = { at: new Date(0), step: 0, text: "" }): LogEntry {
  const [, at, step, text] = /^(\d{4}-\d\d-\d\dT[\d:.]{8,12}Z) (-?\d{1,6}) (.*)$/.exec(line) ?? [];
  return at !== undefined && text !== undefined ? { at: new Date(at), step: Number(step), text } : { ...before, text: line };
}
