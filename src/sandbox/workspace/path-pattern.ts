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

/** Told how many steps of the matcher a path has taken. */
type Spend = (steps: number) => void;

/**
 * As git's pathspecs: `*` and `?` within a name, `**` across folders, `[a-z]` and `[!a-z]`. A pattern without a slash is for names in every
 * folder, and a folder that fits brings all that lies in it. The paths are a sandbox's: the steps are the path's length times the
 * pattern's at most, whatever both are, and few for what does not begin alike. Throws `PATH_INVALID`.
 */
export function createPathPattern(pattern: string, spend: Spend = () => undefined): (key: string) => boolean {
  if (pattern.length > MAX_CHARACTERS) throw new BelljarError("PATH_INVALID", `A pattern has ${MAX_CHARACTERS} characters at most`);
  const states = [...(pattern.includes("/") ? [] : FOLDERS), ...(pattern.match(PART) ?? []).flatMap((part) => toStates(part, pattern))];
  return (key) => {
    const reached = new Reached(states);
    const fits = matches(states, toText(key), reached);
    spend(reached.steps);
    return fits;
  };
}

function matches(states: readonly State[], path: string, reached: Reached): boolean {
  reached.add(0);
  for (const character of path) {
    if (character === "/" && reached.isAtEnd) return true;
    for (const index of reached.leave()) {
      const state = states[index];
      if (state !== undefined && state.kind !== "split" && state.takes(character)) reached.add(state.kind === "many" ? index : index + 1);
    }
    if (reached.isNowhere) return false;
  }
  return reached.isAtEnd;
}

/** The states that the matcher is in, each once. */
class Reached {
  readonly #states: readonly State[];
  /** The last turn in which a state was reached. */
  readonly #turns: Uint32Array;
  #turn = 1;
  #indexes: number[] = [];
  steps = 0;

  constructor(states: readonly State[]) {
    this.#states = states;
    this.#turns = new Uint32Array(states.length + 1);
  }

  get isAtEnd(): boolean {
    return this.#turns[this.#states.length] === this.#turn;
  }

  get isNowhere(): boolean {
    return this.#indexes.length === 0;
  }

  /** With those that are reached from it without a character. */
  add(index: number): void {
    this.steps += 1;
    if (this.#turns[index] === this.#turn) return;
    this.#turns[index] = this.#turn;
    this.#indexes.push(index);
    const kind = this.#states[index]?.kind;
    if (kind === "many" || kind === "split") this.add(index + 1);
    if (kind === "split") this.add(index + FOLDERS.length);
  }

  /** The states before the next character, of which none is left then. */
  leave(): readonly number[] {
    const left = this.#indexes;
    this.#indexes = [];
    this.#turn += 1;
    return left;
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
