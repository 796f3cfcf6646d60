import { isUtf8 } from "node:buffer";
import { BelljarError } from "../../errors.ts";
import { fromKey } from "./entry.ts";

const PART = /\*\*\/|\*\*|\*|\?|\[[!^]?[^[\]/]+\]|[^]/gu;
const MAX_CHARACTERS = 4_096;

/** One state of the matcher, at a place of the pattern. `split` takes nothing: it goes on here, or past the folders that may be absent. */
type State =
  | { readonly kind: "one"; takes(this: void, character: string): boolean }
  | { readonly kind: "many"; takes(this: void, character: string): boolean }
  | { readonly kind: "split" };

const isAny = (): boolean => true;
const isInName = (character: string): boolean => character !== "/";
/** `**` and a slash: any folders, or none. A `split` goes past these three. */
const FOLDERS: readonly State[] = [{ kind: "split" }, { kind: "many", takes: isAny }, { kind: "one", takes: (one) => one === "/" }];

/**
 * As git's pathspecs: `*` and `?` within a name, `**` across folders, `[a-z]` and `[!a-z]`. A pattern without a slash is for names in every
 * folder, and a folder that fits brings all that lies in it. The paths are a sandbox's: the time is that of the path's length by the
 * pattern's, whatever both are. Throws `PATH_INVALID`.
 */
export function createPathPattern(pattern: string): (key: string) => boolean {
  if (pattern.length > MAX_CHARACTERS) throw new BelljarError("PATH_INVALID", `A pattern has ${MAX_CHARACTERS} characters at most`);
  const states = [...(pattern.includes("/") ? [] : FOLDERS), ...(pattern.match(PART) ?? []).flatMap((part) => toStates(part, pattern))];
  return (key) => matches(states, toText(key));
}

function matches(states: readonly State[], path: string): boolean {
  const end = states.length;
  let active = new Uint8Array(end + 1);
  active[0] = 1;
  advance(states, active);
  for (const character of path) {
    if (active[end] === 1 && character === "/") return true;
    const next = new Uint8Array(end + 1);
    for (const [index, state] of states.entries()) {
      if (active[index] === 0 || state.kind === "split" || !state.takes(character)) continue;
      next[state.kind === "many" ? index : index + 1] = 1;
    }
    if (!next.includes(1)) return false;
    active = next;
    advance(states, active);
  }
  return active[end] === 1;
}

/** Adds the states that are reached without a character. They all lie further on, so that one walk finds them. */
function advance(states: readonly State[], active: Uint8Array): void {
  for (const [index, { kind }] of states.entries()) {
    if (active[index] === 0 || kind === "one") continue;
    active[index + 1] = 1;
    if (kind === "split") active[index + FOLDERS.length] = 1;
  }
}

function toStates(part: string, pattern: string): readonly State[] {
  if (part === "**/") return FOLDERS;
  if (part === "**") return [{ kind: "many", takes: isAny }];
  if (part === "*") return [{ kind: "many", takes: isInName }];
  if (part === "?") return [{ kind: "one", takes: isInName }];
  if (part.length > 1 && part.startsWith("[")) return [{ kind: "one", takes: toClass(part.slice(1, -1), pattern) }];
  return [{ kind: "one", takes: (character) => character === part }];
}

function toClass(text: string, pattern: string): (character: string) => boolean {
  const isNegated = text.length > 1 && /^[!^]/.test(text);
  const ranges = (text.slice(isNegated ? 1 : 0).match(/[^]-[^]|[^]/gu) ?? []).map((range) => {
    const characters = Array.from(range);
    return [codeOf(characters[0]), codeOf(characters.at(-1))] as const;
  });
  if (ranges.some(([first, last]) => first > last)) throw new BelljarError("PATH_INVALID", `${pattern} is no pattern`);
  return (character) => {
    const code = codeOf(character);
    return character !== "/" && ranges.some(([first, last]) => first <= code && code <= last) !== isNegated;
  };
}

function codeOf(character: string | undefined): number {
  return character?.codePointAt(0) ?? 0;
}

/** Names that are no UTF-8 are matched byte by byte. */
function toText(key: string): string {
  const bytes = fromKey(key);
  return isUtf8(bytes) ? bytes.toString() : key;
}
