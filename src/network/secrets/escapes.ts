/**
 * Decodes the escapes of many languages: `%3C`, `=3C`, `\u003c`, `\x3c`, `\u{3c}`, `\074`, `\<`, `&#60;`, `&#x3c;`, `&lt;`.
 * The state within an escape is one number: its kind, the count of digits (read or due), and their value.
 */
export type EscapeState = number;

export interface EscapeStep {
  /** The next state. `OUTSIDE` if the escape is complete. */
  readonly state: EscapeState;
  /** The character of a complete escape. `NOTHING` for a soft line break. */
  readonly unit: number;
  /** True if the escape ended before this character, which must be read again. */
  readonly isUnread: boolean;
}

export const OUTSIDE = 0;
export const NOTHING = -1;

const KINDS = [
  "outside",
  "percent",
  "equals",
  "equalsCr",
  "backslash",
  "hex",
  "brace",
  "octal",
  "ampersand",
  "name",
  "number",
  "decimal",
  "hexadecimal",
] as const;
type Kind = (typeof KINDS)[number];

/** Encoders write leading zeros, but a bounded number. */
const DIGITS_MAX = 12;
const [TAB, LF, CR] = [9, 10, 13];
const at = (sign: string): number => sign.charCodeAt(0);

/** Larger than the number of kinds, and than any count of digits. */
const RADIX = 16;

function toState(kind: Kind, count = 0, value = 0): EscapeState {
  return KINDS.indexOf(kind) + RADIX * (count + RADIX * value);
}

/** Returns the state after a character that may begin an escape, or `OUTSIDE` for other characters. */
export function beginEscape(unit: number): EscapeState {
  if (unit === 0x25) return toState("percent");
  if (unit === 0x3d) return toState("equals");
  if (unit === 0x5c) return toState("backslash");
  if (unit === 0x26) return toState("ampersand");
  return OUTSIDE;
}

/** Reads the next character of an escape. Returns undefined if it is no escape, or if it decodes to a character above `most`. */
export function stepEscape(state: EscapeState, unit: number, most: number): EscapeStep | undefined {
  const count = Math.floor(state / RADIX) % RADIX;
  const step = STEPS[KINDS[state % RADIX] ?? "outside"](unit, count, Math.floor(state / (RADIX * RADIX)));
  return step && leastOf(step) <= most ? step : undefined;
}

/** Returns the lowest character that the escape can still decode to. */
function leastOf({ state, unit }: EscapeStep): number {
  if (state === OUTSIDE) return unit;
  const due = Math.floor(state / RADIX) % RADIX;
  const value = Math.floor(state / (RADIX * RADIX));
  const base = DUE_BASES[KINDS[state % RADIX] ?? "outside"];
  if (KINDS[state % RADIX] === "name") return 0;
  return base === undefined ? value : value * base ** due;
}

/** Bases of the kinds whose count is the number of digits still due. */
const DUE_BASES: Partial<Record<Kind, number>> = { hex: 16, octal: 8 };

type Step = (unit: number, count: number, value: number) => EscapeStep | undefined;

function more(kind: Kind, count = 0, value = 0): EscapeStep {
  return { state: toState(kind, count, value), unit: NOTHING, isUnread: false };
}

function whole(unit: number): EscapeStep {
  return { state: OUTSIDE, unit, isUnread: false };
}

function ended(unit: number): EscapeStep {
  return { state: OUTSIDE, unit, isUnread: true };
}

/** Here `count` is the number of digits still due. */
const hex: Step = (unit, count, value) => {
  const digit = hexDigit(unit);
  if (digit < 0) return undefined;
  return count === 1 ? whole(value * 16 + digit) : more("hex", count - 1, value * 16 + digit);
};

const octal: Step = (unit, count, value) => {
  const digit = unit - 0x30;
  if (digit < 0 || digit > 7) return undefined;
  return count === 1 ? whole(value * 8 + digit) : more("octal", count - 1, value * 8 + digit);
};

const LETTERS: Readonly<Record<number, number>> = { [at("n")]: LF, [at("r")]: CR, [at("t")]: TAB };
const DUE: Readonly<Record<number, number>> = { [at("u")]: 4, [at("U")]: 8, [at("x")]: 2 };

function afterBackslash(unit: number): EscapeStep | undefined {
  const due = DUE[unit];
  if (due !== undefined) return more("hex", due);
  if (unit >= 0x30 && unit <= 0x33) return octal(unit, 3, 0);
  const letter = LETTERS[unit];
  if (letter !== undefined) return whole(letter);
  return isPunctuation(unit) ? whole(unit) : undefined;
}

/** Handles `\u{3c}`. A brace may only follow `\u`. */
const unicode: Step = (unit, count, value) => (unit === at("{") && count === 4 && value === 0 ? more("brace") : hex(unit, count, value));

/** Here `count` is the number of digits read. The semicolon may be missing. */
const numeric =
  (kind: Kind, base: number): Step =>
  (unit, count, value) => {
    const digit = base === 16 ? hexDigit(unit) : decimalDigit(unit);
    if (digit >= 0) return count < DIGITS_MAX ? more(kind, count + 1, value * base + digit) : undefined;
    if (count === 0) return undefined;
    return unit === at(";") ? whole(value) : ended(value);
  };

const STEPS: Readonly<Record<Kind, Step>> = {
  outside: () => undefined,
  percent: (unit) => hex(unit, 2, 0),
  equals: (unit) => (unit === LF ? whole(NOTHING) : unit === CR ? more("equalsCr") : hex(unit, 2, 0)),
  equalsCr: (unit) => (unit === LF ? whole(NOTHING) : undefined),
  backslash: afterBackslash,
  hex: unicode,
  brace: (unit, count, value) => {
    if (unit === at("}")) return count > 0 ? whole(value) : undefined;
    return hexDigit(unit) < 0 || count > 7 ? undefined : more("brace", count + 1, value * 16 + hexDigit(unit));
  },
  octal: octal,
  ampersand: (unit) => (unit === at("#") ? more("number") : named(unit, 0)),
  name: (unit, _count, value) => named(unit, value),
  number: (unit) => (unit === at("x") || unit === at("X") ? more("hexadecimal") : numeric("decimal", 10)(unit, 0, 0)),
  decimal: numeric("decimal", 10),
  hexadecimal: numeric("hexadecimal", 16),
};

/** HTML names of ASCII characters. `OPEN_NAMES` may stand without a semicolon. */
const OPEN_NAMES = 'amp & lt < gt > quot " AMP & LT < GT > QUOT "';
const NAMES =
  "apos ' excl ! num # dollar $ percnt % lpar ( rpar ) ast * midast * plus + comma , period . sol / colon : semi ; equals = quest ? commat @ " +
  "lsqb [ lbrack [ bsol \\ rsqb ] rbrack ] Hat ^ lowbar _ UnderBar _ grave ` lcub { lbrace { verbar | vert | VerticalLine | rcub } rbrace }";

interface NameNode {
  readonly next: Map<number, number>;
  unit?: number;
  isOpen?: boolean;
}

const NODES: readonly NameNode[] = buildNames();

function buildNames(): readonly NameNode[] {
  const nodes: NameNode[] = [{ next: new Map() }];
  const add = (text: string, isOpen: boolean): void => {
    const words = text.split(" ");
    for (let index = 0; index < words.length; index += 2) {
      let node = nodes[0] as NameNode;
      for (const letter of words[index] ?? "") {
        const known = node.next.get(at(letter));
        if (known === undefined) node.next.set(at(letter), nodes.push({ next: new Map() }) - 1);
        node = nodes[known ?? nodes.length - 1] as NameNode;
      }
      Object.assign(node, { unit: at(words[index + 1] ?? ""), isOpen });
    }
  };
  add(OPEN_NAMES, true);
  add(NAMES, false);
  return nodes;
}

function named(unit: number, index: number): EscapeStep | undefined {
  const node = NODES[index];
  const next = node?.next.get(unit);
  if (next !== undefined) return more("name", 0, next);
  if (node?.unit === undefined) return undefined;
  if (unit === at(";")) return whole(node.unit);
  return node.isOpen ? ended(node.unit) : undefined;
}

function hexDigit(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function decimalDigit(unit: number): number {
  return unit >= 0x30 && unit <= 0x39 ? unit - 0x30 : -1;
}

function isPunctuation(unit: number): boolean {
  const isSign = unit >= 0x20 && unit < 0x7f;
  const isLetter = (unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a;
  return isSign && !isLetter && decimalDigit(unit) < 0;
}
