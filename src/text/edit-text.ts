import { BelljarError } from "../errors.ts";
import { findAll } from "./find-all.ts";
import { findNearestLines } from "./nearest-lines.ts";
import { EDIT_MAX_BYTES } from "./text-limits.ts";

const SHOWN_PLACES = 10;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

export interface TextEdit {
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean | undefined;
}

export interface EditedText {
  readonly content: Buffer;
  readonly replacements: number;
}

/**
 * Replaces exact texts. Each edit works on the result of the edits before it. Either all edits succeed, or it throws: `EDIT_CONFLICT` if
 * an old text is missing, or occurs more than once without `replace_all`; `FILE_TOO_LARGE` if the file would exceed `EDIT_MAX_BYTES`.
 * A file whose lines all end in CR LF keeps them. Bytes that are not UTF-8 stay unchanged.
 */
export function editText(before: Buffer, edits: readonly TextEdit[], path: string): EditedText {
  let text = before;
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const { wanted, replacement } = fitLineEnds(text, edit);
    const { count, first } = countPlaces(text, wanted);
    if (count === 0) throw notFound({ path, text, index, wanted: edit.old_string, isLater: countPlaces(before, wanted).count > 0 });
    if (count > 1 && !edit.replace_all) throw notUnique({ path, text, index, count, first });
    const size = text.length + count * (replacement.length - wanted.length);
    if (size > EDIT_MAX_BYTES) throw tooLarge(path, index, size);
    text = replaceAll(text, { wanted, replacement, size });
    replacements += count;
  }
  return { content: text, replacements };
}

/** Callers write `\n`. In a file whose lines end in CR LF, this means CR LF. */
function fitLineEnds(text: Buffer, edit: TextEdit): { readonly wanted: Buffer; readonly replacement: Buffer } {
  const hasLines = edit.old_string.includes("\n") || edit.new_string.includes("\n");
  const isCrLf = hasLines && endsInCrLf(text);
  const fit = (part: string): Buffer => Buffer.from(isCrLf ? part.replace(/(?<!\r)\n/g, "\r\n") : part);
  return { wanted: fit(edit.old_string), replacement: fit(edit.new_string) };
}

function endsInCrLf(text: Buffer): boolean {
  let lines = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] !== NEWLINE) continue;
    if (text[at - 1] !== RETURN) return false;
    lines += 1;
  }
  return lines > 0;
}

function countPlaces(text: Buffer, wanted: Buffer): { readonly count: number; readonly first: readonly number[] } {
  const first: number[] = [];
  let count = 0;
  findAll(text, wanted, (place) => {
    if (first.length < SHOWN_PLACES) first.push(place);
    count += 1;
  });
  return { count, first };
}

interface Replacement {
  readonly wanted: Buffer;
  readonly replacement: Buffer;
  /** Size of the whole text afterwards. */
  readonly size: number;
}

function replaceAll(text: Buffer, { wanted, replacement, size }: Replacement): Buffer {
  const edited = Buffer.allocUnsafe(size);
  let [read, written] = [0, 0];
  findAll(text, wanted, (place) => {
    written += text.copy(edited, written, read, place);
    written += replacement.copy(edited, written);
    read = place + wanted.length;
  });
  text.copy(edited, written, read);
  return edited;
}

interface Miss {
  readonly path: string;
  readonly text: Buffer;
  readonly index: number;
  readonly wanted: string;
  /** True if the text was in the file before the earlier edits. */
  readonly isLater: boolean;
}

function notFound({ path, text, index, wanted, isLater }: Miss): BelljarError {
  const start = `Nothing was changed in "${path}": edits[${index}].old_string is not in the file`;
  if (isLater) return conflict(`${start} once the edits before it are made. They overlap; join them into one edit.`);
  const nearest = findNearestLines(text.toString("utf8"), wanted);
  if (!nearest) return conflict(`${start}, and nothing like it. Read the file and copy the text from there.`);
  const hint = nearest.differsInSpace ? "The same text with other spaces or line ends is" : "The nearest text is";
  return conflict(`${start}. ${hint} at ${nearest.place}:\n${nearest.shown}`);
}

interface Repeat {
  readonly path: string;
  readonly text: Buffer;
  readonly index: number;
  readonly count: number;
  readonly first: readonly number[];
}

function notUnique({ path, text, index, count, first }: Repeat): BelljarError {
  const lines = first.map((place) => lineOf(text, place));
  const more = count > first.length ? " ..." : "";
  return conflict(
    `Nothing was changed in "${path}": edits[${index}].old_string occurs ${count} times (lines ${lines.join(", ")}${more}). Add more of the text around the intended place, or set replace_all.`,
  );
}

function tooLarge(path: string, index: number, size: number): BelljarError {
  return new BelljarError(
    "FILE_TOO_LARGE",
    `Nothing was changed in "${path}": edits[${index}] would make it ${size} bytes large, and files are edited up to ${EDIT_MAX_BYTES} bytes. Change it with a program such as sed -i, by run_command`,
  );
}

function lineOf(text: Buffer, place: number): number {
  let line = 1;
  for (let at = 0; at < place; at += 1) if (text[at] === NEWLINE) line += 1;
  return line;
}

function conflict(message: string): BelljarError {
  return new BelljarError("EDIT_CONFLICT", message);
}
