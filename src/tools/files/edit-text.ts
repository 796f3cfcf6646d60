import { BelljarError } from "../../errors.ts";
import { fromByteText, showByteText, toByteText } from "./byte-text.ts";
import { findNearestLines } from "./nearest-lines.ts";

const SHOWN_PLACES = 10;

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
 * Replaces exact texts, one edit after the other, each in what the ones before it made. All or nothing: throws `EDIT_CONFLICT` when an
 * old text is not there, or is there more than once without `replace_all`. A file whose lines all end in CR LF keeps that.
 */
export function editText(content: Buffer, edits: readonly TextEdit[], path: string): EditedText {
  const before = toByteText(content);
  let text = before;
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const { wanted, replacement } = fitLineEnds(text, edit);
    const places = findAll(text, wanted);
    if (places.length === 0) throw notFound({ path, before, text, index, wanted: edit.old_string, isLater: before.includes(wanted) });
    if (places.length > 1 && !edit.replace_all) throw notUnique({ path, text, index, places });
    text = replaceAt(text, places, wanted.length, replacement);
    replacements += places.length;
  }
  return { content: fromByteText(text), replacements };
}

/** Callers write `\n`; in a file of CR LF lines they mean that. */
function fitLineEnds(text: string, edit: TextEdit): { readonly wanted: string; readonly replacement: string } {
  const wanted = toByteText(edit.old_string);
  const replacement = toByteText(edit.new_string);
  const isCrLf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  const fit = (part: string): string => (isCrLf ? part.replace(/(?<!\r)\n/g, "\r\n") : part);
  return { wanted: fit(wanted), replacement: fit(replacement) };
}

function findAll(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function replaceAt(text: string, places: readonly number[], length: number, replacement: string): string {
  const parts = places.map((place, index) => text.slice(index === 0 ? 0 : (places[index - 1] ?? 0) + length, place));
  return [...parts, text.slice((places.at(-1) ?? 0) + length)].join(replacement);
}

interface Miss {
  readonly path: string;
  readonly before: string;
  readonly text: string;
  readonly index: number;
  readonly wanted: string;
  /** It was there before the edits that come first. */
  readonly isLater: boolean;
}

function notFound({ path, text, index, wanted, isLater }: Miss): BelljarError {
  const start = `Nothing was changed in "${path}": edits[${index}].old_string is not in the file`;
  if (isLater) return conflict(`${start} once the edits before it are made. They overlap; join them into one edit.`);
  const nearest = findNearestLines(showByteText(text), wanted);
  if (!nearest) return conflict(`${start}, and nothing like it. Read the file and copy the text from there.`);
  const hint = nearest.differsInSpace ? "The same text with other spaces or line ends is" : "The nearest text is";
  return conflict(`${start}. ${hint} at lines ${nearest.startLine} to ${nearest.endLine}:\n${nearest.shown}`);
}

function notUnique({ path, text, index, places }: { path: string; text: string; index: number; places: readonly number[] }): BelljarError {
  const lines = places.slice(0, SHOWN_PLACES).map((place) => lineOf(text, place));
  const more = places.length > SHOWN_PLACES ? " ..." : "";
  return conflict(
    `Nothing was changed in "${path}": edits[${index}].old_string occurs ${places.length} times (lines ${lines.join(", ")}${more}). Take more of the text around the one that is meant, or set replace_all.`,
  );
}

function lineOf(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function conflict(message: string): BelljarError {
  return new BelljarError("EDIT_CONFLICT", message);
}
